import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { run } from '../../src/cli/run.ts';
import { openTerminal, type Streams } from '../../src/cli/terminal.ts';
import type { Environment } from '../../src/sdk/environment.ts';
import { holdsSecret } from '../support/canary.ts';
import { compileCache } from '../support/compile-cache.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface CliRun {
  /** Exit code. Null after a signal. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** Parses the single object that --json prints. */
  json(): Record<string, unknown>;
}

export interface CliOptions {
  market?: string;
  input?: string;
  env?: Record<string, string>;
  /** Aborts a command that runs until stopped, as Ctrl-C does. */
  interruption?: AbortSignal;
  /** Replaces network and clock. Ignored when the command runs as its own process. */
  environment?: Partial<Environment>;
  /** Uses this home folder instead of the shared one, as if on another machine. */
  home?: string;
}

export interface StoredIdentity {
  market: string;
  handle: string;
  merchant_id: number | null;
  merchant_key: string | null;
  recovery_codes: string[];
  pending: { door: string; merchant_key: string; session: string; expires_at: string } | null;
  previous: unknown[];
  waiting_codes: { recovery_codes: string[]; valid_from: string } | null;
  codes_in_doubt_since: string | null;
  key_refused_at: string | null;
}

/** Runs the command line in its own home folder, as a process or, much faster, in this process. Its output is searched for secrets. */
export function cliRuns() {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openaisle-cli-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const environment = ({ market, env, home }: CliOptions): Record<string, string> => ({
    PATH: process.env['PATH'] ?? '',
    ...compileCache(),
    HOME: home ?? folder,
    XDG_CONFIG_HOME: join(home ?? folder, 'config'),
    ...(market === undefined ? {} : { OPENAISLE_MARKET: market }),
    ...env,
  });
  const start = (args: readonly string[], options: CliOptions = {}): StartedCli => {
    const env = environment(options);
    const child = spawn(process.execPath, [MAIN, ...args], { env, cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    return { child, ended: collect(child, args) };
  };
  return {
    folder: () => folder,
    start,
    /** Runs the command in a new process. */
    spawned: (args: readonly string[], options?: CliOptions) => start(args, options).ended,
    /** Runs the command in this process. */
    run: (args: readonly string[], options: CliOptions = {}) => runHere(args, environment(options), options),
    fileOf: (market: string, handle: string, home = folder) =>
      join(home, 'config', 'openaisle', new URL(market).host.replace(':', '_'), `${handle}.json`),
  };
}

interface StartedCli {
  child: ChildProcess;
  ended: Promise<CliRun>;
}

async function collect(child: ChildProcess, args: readonly string[]): Promise<CliRun> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return searchedRun(args, { code, stdout, stderr });
}

async function runHere(
  argv: readonly string[],
  env: Record<string, string>,
  { input = '', interruption = new AbortController().signal, environment = {} }: CliOptions,
): Promise<CliRun> {
  let [stdout, stderr] = ['', ''];
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const streams = { stdin: Readable.from([input]), stdout: nowhere, stderr: nowhere } as unknown as Streams;
  const code = await run({
    argv,
    env,
    version: 'test',
    terminal: openTerminal(streams),
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
    interruption: () => interruption,
    environment,
  });
  return searchedRun(argv, { code, stdout, stderr });
}

function searchedRun([command]: readonly string[], { code, stdout, stderr }: Omit<CliRun, 'json'>): CliRun {
  for (const [name, text] of Object.entries({ stdout, stderr }))
    if (holdsSecret(text)) throw new Error(`a secret got into ${name} of openaisle ${command}`);
  return { code, stdout, stderr, json: (): Record<string, unknown> => JSON.parse(stdout) };
}

export async function readStored(path: string): Promise<StoredIdentity> {
  return JSON.parse(await readFile(path, 'utf8'));
}

/** Returns the permission bits in octal, like `0600`. */
export async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8).padStart(4, '0');
}

/** Returns the arguments of a join with this handle. */
export function joining(handle: string): string[] {
  return ['join', '--handle', handle, '--model', 'test', '--class', 'coding_ephemeral', '--human-approved'];
}

interface TerminalRun {
  code: number | null;
  screen: string;
}

/** Runs the command line on a terminal (`script` of util-linux) and types each answer once its question appears. */
export async function runOnTerminal(
  args: readonly string[],
  answers: readonly (readonly [question: string, answer: string])[],
  env: Record<string, string>,
): Promise<TerminalRun> {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const open = [...answers];
  let screen = '';
  let asked = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    asked += text;
    const [next] = open;
    if (next === undefined || !asked.includes(next[0])) return;
    open.shift();
    asked = '';
    child.stdin.write(`${next[1]}\r`);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, screen };
}
