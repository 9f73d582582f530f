import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Clock tick of Linux. Node cannot query it, but it has been stable for decades. */
const TICK_MS = 10;

export interface Memory {
  rssMb: number;
  peakMb: number;
}

/** Returns a process and its living descendants. On systems other than Linux, only the process. */
export async function familyOf(pid: number): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const parents = new Map<number, number>();
  for (const name of names.filter((one) => /^\d+$/.test(one))) {
    const fields = await statFields(Number(name));
    if (fields !== null) parents.set(Number(name), Number(fields[1]));
  }
  const family = [pid];
  for (const member of family) for (const [child, parent] of parents) if (parent === member) family.push(child);
  return family;
}

/** Returns the total CPU time so far. Null if unknown on this system. */
export async function cpuMs(pids: readonly number[]): Promise<number | null> {
  let ticks = 0;
  for (const pid of pids) {
    const fields = await statFields(pid);
    if (fields === null) return null;
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * TICK_MS;
}

/** Returns the bytes that a process wrote to disk, in whole pages. Files in memory do not count. Null if unknown. */
export async function writtenBytes(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/io`, 'utf8').catch(() => '');
  const bytes = /^write_bytes: (\d+)$/m.exec(text)?.[1];
  return bytes === undefined ? null : Number(bytes);
}

export async function memoryOf(pids: readonly number[]): Promise<Memory | null> {
  const memory = { rssMb: 0, peakMb: 0 };
  for (const pid of pids) {
    const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => null);
    if (text === null) return null;
    memory.rssMb += kilobytes(text, 'VmRSS') / 1_024;
    memory.peakMb += kilobytes(text, 'VmHWM') / 1_024;
  }
  return memory;
}

/** Pins all threads of these processes to one core. Returns false if that is impossible. */
export async function pin(pids: readonly number[], core: number): Promise<boolean> {
  for (const pid of pids) {
    const pinned = await run('taskset', ['-a', '-c', '-p', String(core), String(pid)]).then(
      () => true,
      () => false,
    );
    if (!pinned) return false;
  }
  return true;
}

/** Returns the fields after the name in brackets, from the state on. Index 1 is the parent, 11 and 12 user and system time. */
async function statFields(pid: number): Promise<string[] | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
}
