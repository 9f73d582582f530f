import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { systemClock } from '../../platform/clock.ts';

export interface AnvilProcess {
  pid: number;
  port: number;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 15_000;
const LISTENING = /Listening on \S*:(\d+)\s*$/;
const SETPRIV = '/usr/bin/setpriv';

const running = new Set<ChildProcess>();
process.on('exit', () => {
  // A chain with a state file writes that file on SIGTERM.
  for (const child of running) child.kill('SIGTERM');
});

export async function startAnvil(
  anvil: string,
  options: readonly string[],
  log?: (line: string) => void,
): Promise<AnvilProcess> {
  // The exit hook does not run if the parent is killed. With setpriv the kernel then ends the child. Only with setpriv may the child ignore
  // Ctrl-C, so that the parent stops the servers first and the chain last.
  const isBound = existsSync(SETPRIV);
  const [program, before] = isBound ? [SETPRIV, ['--pdeathsig', 'TERM', '--', anvil]] : [anvil, []];
  const child = spawn(program, [...before, ...options], { stdio: ['ignore', 'pipe', 'pipe'], detached: isBound });
  running.add(child);
  const gone = new Promise<void>((resolve) => {
    const left = (): void => {
      running.delete(child);
      resolve();
    };
    child.once('exit', left);
    child.once('error', left);
  });
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (!running.has(child)) return;
    child.kill(signal);
    const waiting = new AbortController();
    const late = systemClock.sleep(STOP_WITHIN_MS, waiting.signal).then(() => !waiting.signal.aborted);
    const stuck = await Promise.race([gone.then(() => false), late]);
    waiting.abort();
    if (stuck) {
      child.kill('SIGKILL');
      await gone;
      throw new Error(`anvil (process ${child.pid}) did not stop within ${STOP_WITHIN_MS} ms and was killed`);
    }
  };
  try {
    const port = await listeningPort(child, log);
    await waitUntilStopIsHandled(child);
    return { pid: child.pid ?? 0, port, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
}

/**
 * Waits until anvil catches SIGTERM. anvil listens before it handles signals, and a chain stopped in between would not write its state.
 * Does not wait on systems without /proc, where this cannot be seen.
 */
async function waitUntilStopIsHandled(child: ChildProcess): Promise<void> {
  for (let waited = 0; waited < READY_WITHIN_MS && running.has(child); waited += 2) {
    if (catchesSigterm(child.pid) !== false) return;
    await systemClock.sleep(2);
  }
}

const SIGTERM_BIT = 1n << BigInt(constants.signals.SIGTERM - 1);

/** Returns null if the system does not show which signals a process catches. */
function catchesSigterm(pid: number | undefined): boolean | null {
  try {
    const caught = /^SigCgt:\s+([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return caught === undefined ? null : (BigInt(`0x${caught}`) & SIGTERM_BIT) !== 0n;
  } catch {
    return null;
  }
}

/** Reads the port from anvil's output. With port 0, no other process can take the port first. */
function listeningPort(child: ChildProcess, log?: (line: string) => void): Promise<number> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('anvil was started without its output');
  const errors: string[] = [];
  return new Promise((resolve, reject) => {
    const waiting = new AbortController();
    const fail = (why: string): void => {
      waiting.abort();
      reject(new Error(`anvil did not start: ${[why, ...errors].join('\n')}`));
    };
    createInterface({ input: stderr }).on('line', (line) => {
      if (errors.length < 20) errors.push(line);
      log?.(line);
    });
    // Keep reading, because a full pipe would block the chain.
    createInterface({ input: stdout }).on('line', (line) => {
      const port = LISTENING.exec(line)?.[1];
      if (port !== undefined) {
        waiting.abort();
        resolve(Number(port));
      }
      log?.(line);
    });
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) => fail(`ended with ${signal ?? code}`));
    void systemClock.sleep(READY_WITHIN_MS, waiting.signal).then(() => {
      if (!waiting.signal.aborted) fail(`not listening after ${READY_WITHIN_MS} ms`);
    });
  });
}

/**
 * Returns the path that anvil writes its state to. anvil overwrites in place, so a crash could destroy the file it started from. A complete
 * new file replaces the old one at the next start and after every clean stop.
 */
export function dumpPath(stateFile: string): string {
  return `${stateFile}.next`;
}

export function keepNewestState(stateFile: string): void {
  const dump = dumpPath(stateFile);
  if (!existsSync(dump)) return;
  if (isWhole(dump)) renameSync(dump, stateFile);
  else rmSync(dump);
}

function isWhole(path: string): boolean {
  try {
    JSON.parse(readFileSync(path, 'utf8'));
    return true;
  } catch {
    return false;
  }
}

function pidPath(stateFile: string): string {
  return `${stateFile}.pid`;
}

export function rememberPid(stateFile: string, pid: number): void {
  writeFileSync(pidPath(stateFile), `${pid} ${process.pid}\n`);
}

export function forgetPid(stateFile: string): void {
  rmSync(pidPath(stateFile), { force: true });
}

/** Stops a chain whose parent died and that may still be writing this state. Throws if its parent is alive. */
export async function stopOrphan(stateFile: string): Promise<void> {
  if (!existsSync(pidPath(stateFile))) return;
  const [pid = 0, parent = 0] = readFileSync(pidPath(stateFile), 'utf8').split(' ').map(Number);
  for (let waited = 0; ; waited += 20) {
    const owner = parentOf(pid, stateFile);
    if (owner === null) break;
    if (owner === parent) throw new Error(`The local chain of ${stateFile} is in use by process ${parent}.`);
    if (waited === 0) askToStop(pid);
    if (waited >= 10_000) throw new Error(`A left-over local chain (process ${pid}) of ${stateFile} does not stop.`);
    await systemClock.sleep(20);
  }
  forgetPid(stateFile);
}

function askToStop(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // The process has just ended.
  }
}

/**
 * Returns null if there is no such process. Process ids are reused, so its command line must contain this state file. Always null without
 * /proc; the user must then not start two chains on one file.
 */
function parentOf(pid: number, stateFile: string): number | null {
  if (!Number.isInteger(pid) || pid <= 1) return null;
  try {
    if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dumpPath(stateFile))) return null;
    const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return parent === undefined ? null : Number(parent);
  } catch {
    return null;
  }
}
