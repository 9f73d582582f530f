import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../platform/clock.ts';
import { hasEnded, waitForExit, waitForExitWithin } from '../platform/run-command.ts';
import { systemEnvironment } from '../sdk/environment.ts';

export interface ServerOptions {
  name: string;
  main: URL;
  env: Record<string, string>;
  logFile: string;
  /** Answers 200 once the server is ready. */
  readyUrl: string;
  signal: AbortSignal;
}

export interface ServerProcess {
  name: string;
  pid: number;
  /** Resolves when the process has ended, by `stop` or on its own. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

const LEASH = fileURLToPath(new URL('./leash.ts', import.meta.url));
const READY_WITHIN_MS = 60_000;
/** Longer than any server takes to drain. */
const STOP_WITHIN_MS = 45_000;
const POLL_MS = 25;
const ASK_MS = 2_000;
const SHOWN_LINES = 8;
/** Variables withheld from the server, because the user may have a real market configured. */
const NOT_PASSED_ON = /^(?:OPENAISLE_|FACILITATOR_|CITY_|DATABASE_URL$|PG|NODE_OPTIONS$|VITEST)/;

/** Starts a server as in production: in its own process, configured by its environment. Resolves when it serves. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const { name, main, env, logFile } = options;
  const log = openLog(logFile);
  const child = spawn(process.execPath, ['--import', LEASH, fileURLToPath(main)], {
    env: { ...inheritedEnvironment(), ...env },
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  child.channel?.unref();
  const exited = waitForExit(child);
  const server = { name, pid: child.pid ?? 0, exited, stop: () => stopServer(name, child, exited) };
  try {
    await waitUntilReady(child, options);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export function inheritedEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !NOT_PASSED_ON.test(name));
  return Object.fromEntries(kept.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Opens a new log file and keeps the previous one beside it. */
function openLog(logFile: string): number {
  mkdirSync(dirname(logFile), { recursive: true });
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.before`);
  return openSync(logFile, 'a', 0o600);
}

async function waitUntilReady(child: ChildProcess, { name, readyUrl, logFile, signal }: ServerOptions): Promise<void> {
  const startedMs = systemClock.now();
  while (systemClock.now() - startedMs < READY_WITHIN_MS) {
    signal.throwIfAborted();
    if (hasEnded(child)) throw new Error(`The ${name} did not start. ${logFile} ends with:\n${lastLines(logFile)}`);
    if (await answersOk(readyUrl)) return;
    await systemClock.sleep(POLL_MS, signal);
  }
  throw new Error(`The ${name} does not answer at ${readyUrl}; see ${logFile}`);
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const init = { signal: systemEnvironment.deadline(ASK_MS) };
    return (await systemEnvironment.fetch(url, init)).ok;
  } catch {
    return false;
  }
}

function lastLines(logFile: string): string {
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
}

async function stopServer(name: string, child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (hasEnded(child)) return;
  child.kill('SIGTERM');
  await waitForExitWithin(exited, STOP_WITHIN_MS);
  if (hasEnded(child)) return;
  child.kill('SIGKILL');
  await exited;
  throw new Error(`The ${name} (process ${child.pid}) did not stop within ${STOP_WITHIN_MS / 1_000} s and was killed.`);
}
