import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import packageJson from '../../package.json' with { type: 'json' };
import type { Limits } from '../../src/contract/vocabulary.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import type { CrashPoint } from '../../src/market/context.ts';
import { watchText } from './canary.ts';
import { startTestChain } from './chain.ts';
import { compileCache } from './compile-cache.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { startTestFacilitator } from './facilitator.ts';
import { freePort } from './free-port.ts';
import { WIDE_BUDGETS } from './market-context.ts';
import { type Answer, type AskOptions, askMarket, BASE_URL, joinMarket, type Member } from './market-world.ts';

/** Options of `node` in `npm start`. */
const NODE_OPTIONS = packageJson.scripts.start.split(' ').filter((word) => word.startsWith('--'));

export interface MarketProcess {
  url: string;
  pid: number;
  /** Resolves with the signal that ended the process, or null if the process exited on its own. */
  ended: Promise<NodeJS.Signals | null>;
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer>;
  output: readonly string[];
  kill(): void;
  stop(): Promise<void>;
}

/** Thrown if the market was killed before it listened, since its background jobs run before the first answer. */
export class KilledAtStart extends Error {}

export interface ServiceUrls {
  databaseUrl: string;
  rpcUrl: string;
  facilitatorUrl: string;
}

export interface ProcessWorldOptions {
  /** Replaces the services' URLs with those of the test's proxies. */
  serviceUrls?: (straight: ServiceUrls) => Promise<ServiceUrls>;
  limits?: Partial<Limits>;
  environment?: Readonly<Record<string, string>>;
  /** Opens the database to use instead of a new one on the shared server. */
  openDatabase?: () => Promise<TestDatabase & { drop(): Promise<void> }>;
}

/** Chain, facilitator and database of one test file. Markets run as separate processes (`npm start`) that can really be killed. */
export interface ProcessWorld {
  chain: LocalChain;
  db: TestDatabase;
  join(handle: string): Promise<Member>;
  /** Starts the market. With `crashAt`, the market kills itself at that point. */
  startMarket(crashAt?: CrashPoint): Promise<MarketProcess>;
  finalize(): Promise<void>;
  stop(): Promise<void>;
}

export async function startProcessWorld(options: ProcessWorldOptions = {}): Promise<ProcessWorld> {
  const db = await (options.openDatabase ?? createTestDatabase)();
  const chain = await startTestChain({ finalityBlocks: 4 });
  const facilitator = await startTestFacilitator(chain);
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-market-'));
  const pepperFile = join(folder, 'pepper');
  await writeFile(pepperFile, `1:${'07'.repeat(32)}\n`, { mode: 0o600 });
  const running = new Set<ChildProcess>();
  const straight = { databaseUrl: db.url, rpcUrl: chain.url, facilitatorUrl: facilitator.url };
  const serviceUrls = (await options.serviceUrls?.(straight)) ?? straight;
  const environment = {
    ...compileCache(),
    PATH: process.env['PATH'] ?? '',
    OPENAISLE_BASE_URL: BASE_URL,
    DATABASE_URL: serviceUrls.databaseUrl,
    OPENAISLE_DATA_DIR: folder,
    OPENAISLE_PEPPER_FILE: pepperFile,
    OPENAISLE_RPC_URLS: serviceUrls.rpcUrl,
    OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
    OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
    OPENAISLE_FACILITATOR_URL: serviceUrls.facilitatorUrl,
    OPENAISLE_LIMITS: JSON.stringify({ ...WIDE_BUDGETS, ...options.limits }),
    ...options.environment,
  };
  /** Prepares the next process while the current one serves. */
  let standby = spawnStandby(environment, running);
  return {
    chain,
    db,
    join: (handle) => joinMarket(db, handle),
    startMarket: async (crashAt) => {
      const { child, ended } = await standby;
      child.stdin.end(`${crashAt ?? ''}\n`);
      const output: string[] = [];
      const url = await listening(child, output).finally(() => {
        standby = spawnStandby(environment, running);
      });
      return {
        url,
        pid: child.pid ?? 0,
        output,
        ended,
        ask: (method, path, asked) => askMarket(url, method, path, asked),
        kill: () => {
          child.kill('SIGKILL');
        },
        stop: async () => {
          child.kill('SIGTERM');
          await ended;
        },
      };
    },
    finalize: () => chain.mine(6),
    stop: async () => {
      await standby;
      for (const child of running) child.kill('SIGKILL');
      await facilitator.close();
      await chain.stop();
      await db.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a process that loads its code and waits. */
async function spawnStandby(environment: Record<string, string>, running: Set<ChildProcess>) {
  const env = { ...environment, OPENAISLE_PORT: String(await freePort()) };
  const child = spawn(process.execPath, [...NODE_OPTIONS, 'test/support/market-standby.ts'], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  running.add(child);
  const ended = once(child, 'exit').then(([, signal]) => {
    running.delete(child);
    return signal as NodeJS.Signals | null;
  });
  return { child, ended };
}

/** Returns the URL that the market logs once it listens. Collects all lines and searches them for secrets. */
async function listening(child: ChildProcess, seen: string[]): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('no output of the market');
  const lines = createInterface({ input: child.stdout });
  createInterface({ input: child.stderr }).on('line', (line) => {
    console.error(line);
    watchText('the error output of a market', line);
  });
  return await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      seen.push(line);
      watchText('the log of a market', line);
      const entry: unknown = line.startsWith('{') ? JSON.parse(line) : null;
      if (entry !== null && typeof entry === 'object' && 'event' in entry && entry.event === 'market_listening') {
        if ('url' in entry) resolve(String(entry.url));
      }
    });
    child.once('exit', (_, signal) => {
      const told = `the market ended before it listened:\n${seen.join('\n')}`;
      reject(signal === 'SIGKILL' ? new KilledAtStart(told) : new Error(told));
    });
  });
}
