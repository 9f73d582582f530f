import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../../package.json' with { type: 'json' };
import { inheritedEnvironment } from '../../src/local/server-process.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { freePort } from '../../test/support/free-port.ts';
import { familyOf } from '../process-facts.ts';
import { wideLimits } from '../wide-limits.ts';

export interface MarketOrder {
  databaseUrl: string;
  pepperFile: string;
  /** URL of the chain. Null for an address where nothing listens. */
  rpcUrl: string | null;
  workers: number;
  catalogMemoryMb: number;
  logFile: string;
  /** Path that answers 200 once search by words is ready. */
  searchPath: string;
  profileFolder: string | null;
  /** Limits that differ from those of the other benchmarks. */
  limits?: Readonly<Record<string, number>>;
  /** Further settings of the market. */
  settings?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

export interface MarketServer {
  url: string;
  pid: number;
  workers: number;
  logFile: string;
  /** Times from the start of the process. */
  load: { shelvesSeconds: number; textSeconds: number };
  /** Returns the process and its workers. */
  family(): Promise<number[]>;
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** `npm start` builds, then starts. Takes the arguments of each `node` from there. */
const [BUILD = [], START = []] = packageJson.scripts.start.split(' && ').map((part) => part.split(' ').slice(1));
const LEASH = new URL('../../src/local/leash.ts', import.meta.url).href;
const POLL_MS = 20;
const LOADED_WITHIN_MS = 600_000;
const STOP_WITHIN_MS = 40_000;
const TREASURY = `0x${'7'.repeat(40)}`;

/** Starts a market like `npm start`. No facilitator and usually no chain is reachable, because reads must not need them. */
export async function startMarket(order: MarketOrder): Promise<MarketServer> {
  const [port, silent] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  execFileSync(process.execPath, BUILD, { cwd: ROOT });
  const log = openSync(order.logFile, 'a', 0o600);
  const begin = performance.now();
  const child = spawn(process.execPath, ['--import', LEASH, ...START], {
    cwd: ROOT,
    env: {
      ...inheritedEnvironment(),
      ...profiling(order.profileFolder),
      DATABASE_URL: order.databaseUrl,
      OPENAISLE_PORT: String(port),
      OPENAISLE_PEPPER_FILE: order.pepperFile,
      OPENAISLE_DATA_DIR: dirname(order.pepperFile),
      OPENAISLE_NETWORK: 'base',
      OPENAISLE_RPC_URLS: order.rpcUrl ?? `http://127.0.0.1:${silent}`,
      OPENAISLE_FACILITATOR_URL: `http://127.0.0.1:${silent}`,
      OPENAISLE_TREASURY: TREASURY,
      OPENAISLE_CATALOG_MEMORY_MB: String(order.catalogMemoryMb),
      OPENAISLE_LIMITS: JSON.stringify({ ...JSON.parse((await wideLimits(ROOT)).market), ...order.limits }),
      ...order.settings,
      ...(order.workers === 1 ? {} : { OPENAISLE_WORKERS: String(order.workers) }),
    },
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  child.on('error', () => {});
  const pid = child.pid ?? 0;
  const stop = (): Promise<void> => stopProcess(child);
  try {
    const answered = async (path: string): Promise<number> => {
      await untilAnswered(child, `${url}${path}`, order);
      return (performance.now() - begin) / 1_000;
    };
    const shelvesSeconds = await answered('/api/shelves');
    const textSeconds = await answered(order.searchPath);
    const load = { shelvesSeconds, textSeconds };
    return { url, pid, workers: order.workers, logFile: order.logFile, load, family: () => familyOf(pid), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilAnswered(child: ChildProcess, url: string, { logFile, signal }: MarketOrder): Promise<void> {
  const begin = performance.now();
  while (performance.now() - begin < LOADED_WITHIN_MS) {
    signal.throwIfAborted();
    if (hasEnded(child))
      throw new Error(`the market did not start:\n${(await readFile(logFile, 'utf8')).slice(-2_000)}`);
    const answer = await fetch(url, {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(5_000),
    }).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    if (answer !== null && answer.status !== 503) throw new Error(`${url} is answered ${answer.status}`);
    await systemClock.sleep(POLL_MS, signal);
  }
  throw new Error(`the market is not loaded after ${LOADED_WITHIN_MS / 1_000} s; see ${logFile}`);
}

function profiling(folder: string | null): Record<string, string> {
  return folder === null ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` };
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const family = await familyOf(child.pid ?? 0);
  child.kill('SIGTERM');
  const ended = new AbortController();
  await Promise.race([once(child, 'exit'), systemClock.sleep(STOP_WITHIN_MS, ended.signal)]);
  ended.abort();
  if (hasEnded(child)) return;
  for (const pid of family) kill(pid);
  await once(child, 'exit');
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already exited.
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
