import { statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
/** More than all suites need at once: databases, chains, installed packages. */
const NEEDED_BYTES = 8 * 1024 ** 3;

/**
 * Puts the tests' temporary files, including databases, into memory if there is enough. On a slow disk, copying the database takes most of
 * a test's time. A killed process loses nothing this way. Only a power failure would, and no test causes one.
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
