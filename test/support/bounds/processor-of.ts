import { readdirSync, readFileSync } from 'node:fs';

const NANOSECONDS_OF_ONE = 1_000_000;

/** Returns the CPU milliseconds that the running threads of a process have used so far. Linux only. */
export function processorMsOf(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const [running] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      nanoseconds += Number(running);
    } catch (error) {
      // The thread ended between listing and reading.
      if (!(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')))
        throw error;
    }
  }
  return nanoseconds / NANOSECONDS_OF_ONE;
}
