import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { watchText } from './canary.ts';
import { compileCache } from './compile-cache.ts';
import { freePort } from './free-port.ts';

const MAIN = fileURLToPath(new URL('../../src/market/main.ts', import.meta.url));
/** URL of a closed port. The market starts anyway, since reads work without the chain. */
const CLOSED_PORT_URL = 'http://127.0.0.1:1';

export type Environment = Record<string, string>;
export type Line = Record<string, unknown>;

export interface MainProcess {
  child: ChildProcess;
  exited: Promise<number | null>;
  /** Lines of stdout and stderr. */
  said: string[];
  lines(event: string): Line[];
  /** Resolves with the first log line with that event, as written. */
  logged(event: string): Promise<string>;
  url: string;
}

/** Runs `npm start` as processes with their own environment and folder, for a test or a whole `describe`. */
export function mainProcesses(db: { readonly url: string }, lasting: 'test' | 'describe' = 'test') {
  let folder = '';
  const started: ChildProcess[] = [];
  const [before, after] = lasting === 'test' ? [beforeEach, afterEach] : [beforeAll, afterAll];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openaisle-main-'));
  });
  const stop = async (): Promise<void> => {
    for (const child of started.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      // SIGKILL would leave an embedded database running.
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  };
  after(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Excludes this process's environment, because a developer may have configured a market in it. */
  const environment = async (changed: Environment = {}): Promise<Environment> => ({
    PATH: process.env['PATH'] ?? '',
    ...compileCache(),
    OPENAISLE_PORT: String(await freePort()),
    OPENAISLE_RPC_URLS: CLOSED_PORT_URL,
    OPENAISLE_FACILITATOR_URL: CLOSED_PORT_URL,
    OPENAISLE_TREASURY: '0x00000000000000000000000000000000000000aa',
    OPENAISLE_DATA_DIR: folder,
    ...changed,
  });
  return {
    folder: () => folder,
    environment,
    stop,
    onGivenDatabase: async (changed: Environment = {}): Promise<Environment> => {
      const pepperFile = join(folder, 'pepper');
      await writeFile(pepperFile, `1:${'ab'.repeat(32)}\n`, { mode: 0o600 });
      return environment({ DATABASE_URL: db.url, OPENAISLE_PEPPER_FILE: pepperFile, ...changed });
    },
    start: (env: Environment): MainProcess => {
      const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
      started.push(child);
      const said: string[] = [];
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          said.push(line);
          watchText('the output of a market', line);
        });
      }
      const ofName = (event: string): string[] => said.filter((line) => line.includes(`"event":"${event}"`));
      return {
        child,
        exited: once(child, 'close').then(() => child.exitCode),
        said,
        lines: (event) => ofName(event).map((line): Line => JSON.parse(line)),
        logged: async (event) => {
          await expect.poll(() => ofName(event)[0], { timeout: 20_000, interval: 10 }).toBeDefined();
          return ofName(event)[0] ?? '';
        },
        url: `http://127.0.0.1:${env['OPENAISLE_PORT']}`,
      };
    },
  };
}
