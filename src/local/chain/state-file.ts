import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { systemClock } from '../../platform/clock.ts';

/**
 * anvil writes its state in place, so a crash in the middle would destroy it. It therefore writes beside the file it was started from,
 * and a whole one is moved over the old one at the next start and after every clean stop.
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
  writeFileSync(pidPath(stateFile), `${pid}\n`);
}

export function forgetPid(stateFile: string): void {
  rmSync(pidPath(stateFile), { force: true });
}

/** A chain whose parent died may still be writing this state. Asks it to stop and waits until it is gone. */
export async function stopOrphan(stateFile: string): Promise<void> {
  if (!existsSync(pidPath(stateFile))) return;
  const pid = Number.parseInt(readFileSync(pidPath(stateFile), 'utf8'), 10);
  for (let waited = 0; isOurs(pid, stateFile); waited += 20) {
    if (waited === 0) askToStop(pid);
    if (waited >= 10_000) throw new Error(`Another local chain (process ${pid}) uses ${stateFile} and does not stop.`);
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

/** Process ids are used again: only a process with this state file on its command line is meant. */
function isOurs(pid: number, stateFile: string): boolean {
  if (!Number.isInteger(pid) || pid <= 1) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dumpPath(stateFile));
  } catch {
    // Gone, or a system without /proc, where two chains on one file are left to the person who starts them.
    return false;
  }
}
