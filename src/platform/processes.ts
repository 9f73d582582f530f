import type { ChildProcess } from 'node:child_process';
import { systemClock } from './clock.ts';

/** Whether any process has that id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Resolves when it has ended, also where it never began. */
export function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

/** Resolves when it has ended, or after so long. */
export async function endWithin(exited: Promise<void>, patienceMs: number): Promise<void> {
  const impatient = new AbortController();
  await Promise.race([exited, systemClock.sleep(patienceMs, impatient.signal)]);
  impatient.abort();
}
