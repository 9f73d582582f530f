import { stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { LockFailure } from '../locks/lock-failure.ts';
import { type Lock, takeLock } from '../locks/take-lock.ts';

const NAME = '.lock';

export class FolderInUse extends Error {
  override readonly name = 'FolderInUse';
  readonly pid: number | null;

  constructor(message: string, pid: number | null) {
    super(message);
    this.pid = pid;
  }
}

/**
 * Makes this process the only user of a folder. The lock is inside the folder, so only users who may write there can take it. The lock
 * applies to all processes on this kernel that see the folder, in any container, and ends even if the process is killed. Throws
 * `FolderInUse` if another process uses the folder, and other errors if the folder cannot be locked.
 */
export async function lockDataFolder(folder: string, shownAs: string): Promise<Lock> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const earlier = { name: `openaisle-data-${dev}-${ino}`, folder: tmpdir(), text: String(process.pid) };
  try {
    return await takeLock({ folder, name: NAME, earlier });
  } catch (error) {
    throw error instanceof LockFailure ? refusalOf(error, shownAs) : error;
  }
}

function refusalOf({ why, pid, path, cause }: LockFailure, shownAs: string): Error {
  const folder = `the data folder ${shownAs}`;
  switch (why) {
    case 'held':
      return new FolderInUse(`${folder} is in use by process ${pid}: stop it, or use another folder`, pid);
    case 'held_by_earlier': {
      const by = pid === null ? 'a process' : `process ${pid}`;
      return new FolderInUse(`${folder} is in use by ${by} of an earlier version: stop it, or use another folder`, pid);
    }
    case 'held_out_of_sight':
      return new FolderInUse(
        `${folder} may be in use by an earlier version in another container, or another user of this machine listens at the name @${path}. ` +
          'See who does (as root: ss -xlp) and stop it',
        null,
      );
    case 'foreign':
      return new Error(
        `${folder} cannot be locked: ${path} belongs to another user of this machine. Remove it, and let nobody else write into the folder`,
        { cause },
      );
    case 'unsupported':
      return new Error(
        `${folder} cannot be locked: its file system holds no sockets, or this process may make none. Use a folder on a local disk`,
        { cause },
      );
  }
}

/** Returns the free bytes of the disk that a folder is on. Null if that cannot be read. */
export async function readFreeBytes(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Returns null for the error of a missing file and rethrows any other. */
export function nullIfMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}
