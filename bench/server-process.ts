import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/platform/clock.ts';

export interface ServerProcess {
  name: string;
  url: string;
  pid: number;
  /** Lines of the log above `info`, to be seen when something is odd. */
  complaints(): Promise<string[]>;
  stop(): Promise<void>;
}

const ROOT = new URL('../', import.meta.url);
const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 40_000;
const POLL_MS = 25;

/**
 * One of our servers as it is run in earnest. It logs into a file, so that nobody has to read along while it is measured.
 * `OPENAISLE_BENCH_PROFILE` names a folder for CPU profiles of the servers.
 */
export async function startServerProcess(given: {
  name: string;
  program: string;
  env: Readonly<Record<string, string>>;
  logFile: string;
  /** Name of the log line that carries its `url`. */
  ready: string;
}): Promise<ServerProcess> {
  const { name, logFile, ready } = given;
  const log = await open(logFile, 'w');
  const profiles = process.env['OPENAISLE_BENCH_PROFILE'];
  const flags = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${name}.cpuprofile`] : [];
  const child = spawn(process.execPath, [...flags, fileURLToPath(new URL(given.program, ROOT))], {
    env: { PATH: process.env['PATH'] ?? '', ...given.env },
    stdio: ['ignore', log.fd, log.fd],
  });
  await log.close();
  const gone = once(child, 'exit');
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const waiting = new AbortController();
    const late = systemClock.sleep(STOP_WITHIN_MS, waiting.signal).then(() => !waiting.signal.aborted);
    if (!isGone() && (await Promise.race([gone.then(() => false), late]))) child.kill('SIGKILL');
    waiting.abort();
  };
  for (let waited = 0; waited < READY_WITHIN_MS && !isGone(); waited += POLL_MS) {
    const line = (await readLines(logFile)).find((one) => one['event'] === ready);
    if (typeof line?.['url'] === 'string') {
      return { name, url: line['url'], pid: child.pid ?? 0, stop, complaints: () => readComplaints(logFile) };
    }
    await systemClock.sleep(POLL_MS);
  }
  await stop();
  throw new Error(`the ${name} did not start:\n${await readFile(logFile, 'utf8')}`);
}

async function readComplaints(logFile: string): Promise<string[]> {
  const lines = await readLines(logFile);
  return lines.filter((line) => line['level'] !== 'info').map((line) => JSON.stringify(line));
}

async function readLines(logFile: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(logFile, 'utf8');
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}
