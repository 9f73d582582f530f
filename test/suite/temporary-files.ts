import { statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
/** More than all suites need at once: databases, chains, installed packages. */
const NEEDED_BYTES = 8 * 1024 ** 3;

/**
 * Puts the temporary files of the tests, databases included, into memory where there is plenty. On a slow disk most of a test's time is
 * the copying of its database. A killed process loses nothing by that: only the loss of power would, and no test makes one.
 */
export function keepTemporaryFilesInMemory(env: NodeJS.ProcessEnv = process.env): void {
  if (env['TMPDIR'] === undefined && freeBytesOf(MEMORY) >= NEEDED_BYTES) env['TMPDIR'] = MEMORY;
}

function freeBytesOf(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // Other systems have no such folder.
    return 0;
  }
}
