import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, type ElicitResult, InMemoryTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll } from 'vitest';
import { printWallet } from '../../src/agent/wallet-file.ts';
import type { Cli } from '../../src/cli/cli.ts';
import { toolContextOf } from '../../src/cli/commands/mcp.ts';
import { emptyIdentity, printIdentity } from '../../src/cli/identity.ts';
import type { Options } from '../../src/cli/options.ts';
import { openTerminal } from '../../src/cli/terminal.ts';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import { serveTools } from '../../src/mcp-server/serve-tools.ts';
import type { ToolContext } from '../../src/mcp-server/tool-context.ts';
import { createClient } from '../../src/sdk/client.ts';
import type { Environment } from '../../src/sdk/environment.ts';
import { watchText } from './canary.ts';
import { compileCache } from './compile-cache.ts';
import type { Member, World } from './market-world.ts';
import type { Era } from './mcp-ask.ts';

/** Answers the host's questions in place of a person. */
export type Person = (question: string) => ElicitResult;

export interface ToolAnswer {
  text: string;
  /** Answer without `mark`. */
  data: Record<string, unknown>;
  /** Warning at the start of data that contains other people's texts. */
  mark: unknown;
  isError: boolean;
  untrusted: boolean;
}

export interface Host {
  client: Client;
  /** All output of the tools, as text. */
  heard: string[];
  call(name: string, given?: Record<string, unknown>, onprogress?: (message: string) => void): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Connects a host's client over a transport. Without a person it cannot ask questions. */
export async function connectHost(transport: Transport, era: Era, person?: Person): Promise<Host> {
  const client = new Client(
    { name: 'test-host', version: '1' },
    {
      capabilities: person === undefined ? {} : { elicitation: {} },
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    },
  );
  if (person !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      watchText('a question', params.message);
      return person(params.message);
    });
  await client.connect(transport);
  const heard: string[] = [];
  return {
    client,
    heard,
    call: async (name, given = {}, onprogress) => {
      const result = await client.callTool(
        { name, arguments: given },
        {
          timeout: 60_000,
          resetTimeoutOnProgress: true,
          ...(onprogress === undefined ? {} : { onprogress: ({ message = '' }) => onprogress(message) }),
        },
      );
      const all = JSON.stringify(result);
      watchText(`the answer of ${name}`, all);
      heard.push(all);
      const [first] = result.content;
      const { untrusted: mark, ...data } = (result.structuredContent ?? {}) as Record<string, unknown>;
      return {
        text: first?.type === 'text' ? first.text : '',
        data,
        mark,
        isError: result.isError === true,
        untrusted: result._meta?.['openaisle/untrusted'] === true,
      };
    },
    close: () => client.close(),
  };
}

export interface OwnerOptions {
  market: string;
  wallet: TestAccount;
  merchant?: Member;
  policy?: Record<string, unknown>;
}

/** An owner's home folder: wallet, policy and merchant file, as the command line stores them. */
export interface Owner {
  home: string;
  env: Record<string, string>;
  writePolicy(limits: Record<string, unknown>): Promise<void>;
}

/** Creates home folders that are removed after the file's tests. */
export function ownerHomes() {
  let folder = '';
  let count = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openaisle-owner-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
  };
  return async ({ market, wallet, merchant, policy }: OwnerOptions): Promise<Owner> => {
    count += 1;
    const home = join(folder, String(count));
    const config = join(home, '.config', 'openaisle');
    const writePolicy = (limits: Record<string, unknown>): Promise<void> =>
      put(
        join(config, 'policy.json'),
        JSON.stringify({ version: 1, per_purchase_usdc: 5, per_day_usdc: 20, ...limits }),
      );
    await put(join(config, 'wallet.json'), printWallet(wallet.key, wallet.address));
    if (policy !== undefined) await writePolicy(policy);
    if (merchant !== undefined) {
      const identity = { ...emptyIdentity(market, merchant.handle), merchant_id: Number(merchant.id) };
      await put(
        join(config, new URL(market).host.replace(':', '_'), `${merchant.handle}.json`),
        printIdentity({ ...identity, merchant_key: merchant.key }),
      );
    }
    return {
      home,
      env: { ...compileCache(), HOME: home, XDG_CONFIG_HOME: join(home, '.config'), OPENAISLE_MARKET: market },
      writePolicy,
    };
  };
}

const TICK_MS = 3_000;

/** Replaces `sleep`. Progress ticks never fire. Every other wait makes all blocks final and then ends. */
export function quickWaits({ finalize }: Pick<World, 'finalize'>): Pick<Environment, 'sleep'> {
  return {
    sleep: (ms, signal) =>
      ms === TICK_MS
        ? new Promise((_, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
          })
        : finalize(),
  };
}

export interface HostHereOptions {
  owner: Owner;
  era: Era;
  person?: Person;
  options?: Options;
  /** Overrides parts of the machine's environment. */
  environment?: Partial<Environment>;
  change?: Partial<ToolContext>;
}

/** Runs tools and host in this process, with the context that the command makes. */
export async function startHostHere(given: HostHereOptions): Promise<Host & { logged: string[] }> {
  const { owner, era, person, options = {}, environment = {}, change = {} } = given;
  const logged: string[] = [];
  const cli: Cli = {
    options,
    positionals: [],
    env: owner.env,
    terminal: openTerminal(process),
    now: () => Date.now(),
    connect: (baseUrl, key) => createClient({ baseUrl, environment, ...(key === undefined ? {} : { key }) }),
    say: () => {},
    note: (noted) => {
      const line = typeof noted === 'string' ? noted : noted.foreign;
      watchText('the log of the local tools', line);
      logged.push(line);
    },
    interruption: () => new AbortController().signal,
  };
  const [here, there] = InMemoryTransport.createLinkedPair();
  const ending = new AbortController();
  const served = serveTools({ ...toolContextOf(cli), ...change }, { transport: there, until: ending.signal });
  const host = await connectHost(here, era, person);
  return {
    ...host,
    logged,
    close: async () => {
      await host.close();
      ending.abort();
      await served;
    },
  };
}

export interface SpawnedHost extends Host {
  kill(): void;
  ended: Promise<unknown>;
  stderr(): string;
}

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface RawRun {
  code: number | null;
  lines: string[];
  stderr: string;
}

/**
 * Sends these messages to `openaisle mcp`, one per line, closes its input after the last answer or a line that contains `endAt`, and waits
 * for it to exit.
 */
export async function speakRaw(
  owner: Owner,
  messages: readonly Record<string, unknown>[],
  { onLine = () => {}, endAt }: { onLine?: () => void; endAt?: string },
): Promise<RawRun> {
  const child = spawn(process.execPath, [CLI, 'mcp'], {
    ...{ env: { PATH: process.env['PATH'] ?? '', ...owner.env }, cwd: owner.home },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close');
  const lines: string[] = [];
  const waiting = messages.flatMap(({ id }) => (typeof id === 'number' ? [id] : []));
  for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    onLine();
    const answered = /"id":(\d+)/.exec(line)?.[1];
    const isLast = answered !== undefined && Number(answered) === waiting.at(-1);
    if (isLast || (endAt !== undefined && line.includes(endAt))) child.stdin.end();
  }
  const [code] = (await closed) as [number | null];
  return { code, lines, stderr };
}

/** Starts `openaisle mcp` as a host does: as a process with its standard input and output. */
export async function spawnHost(given: {
  owner: Owner;
  era: Era;
  person?: Person;
  args?: readonly string[];
}): Promise<SpawnedHost> {
  const { owner, era, person, args = [] } = given;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, 'mcp', ...args],
    env: { PATH: process.env['PATH'] ?? '', ...owner.env },
    cwd: owner.home,
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    watchText('the standard error of openaisle mcp', stderr);
  });
  const host = await connectHost(transport, era, person);
  const { pid } = transport;
  const closed = host.client.onclose;
  const ended = new Promise<void>((resolve) => {
    host.client.onclose = () => {
      closed?.();
      resolve();
    };
  });
  return {
    ...host,
    ended,
    kill: () => void (pid !== null && process.kill(pid, 'SIGKILL')),
    stderr: () => stderr,
  };
}
