import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { systemClock } from '../../platform/clock.ts';

/**
 * anvil writes its state in place, so a crash in the middle would destroy it. It therefore writes to a file next to the one it was
 * started from, and a whole one is moved over the old one at the next start and after every clean stop.
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

/** A chain whose parent died may still be writing this state: waits until it is gone. One whose parent lives is left alone. */
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
    // It went away in this very moment.
  }
}

/**
 * Null when there is no such process any more. Process ids are used again: only one with this state file on its command line is meant.
 * On a system without /proc always null: two chains on one file are then left to the person who starts them.
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
