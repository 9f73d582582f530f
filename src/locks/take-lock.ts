import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type EarlierName, holdEarlierName } from './earlier-name.ts';
import { type Lock, takeFolderLock } from './folder-lock.ts';
import { isUnsupported, LockFailure } from './lock-failure.ts';

export type { Lock } from './folder-lock.ts';

export interface LockPlace {
  /** Contains the lock. Only users who may write to this folder can take the lock. */
  folder: string;
  name: string;
  earlier: EarlierName;
}

/**
 * Takes a lock that only one process can hold at a time, until it is released or the process dies. The next holder cleans up after a dead
 * one. If the lock is held, waits for it until the signal is aborted. Without a signal, throws at once, or after a short wait if a process
 * of the previous version holds it. Does not work across machines. Throws `LockFailure`, or an error of the file system if the folder is
 * missing.
 */
export async function takeLock({ folder, name, earlier }: LockPlace, until?: AbortSignal): Promise<Lock> {
  const owners = new Set([(await stat(folder)).uid, process.getuid?.() ?? 0]);
  // Root may do everything anyway, so locks that root owns count.
  const inFolder = await takeInFolder({ path: join(folder, name), owners: new Set([0, ...owners]) }, until);
  try {
    const earlierLock = await holdEarlierName(earlier, { owners, until });
    if (inFolder === null && earlierLock === null) throw new LockFailure('unsupported', { path: folder });
    return {
      release: async () => {
        await earlierLock?.close();
        await inFolder?.release();
      },
    };
  } catch (error) {
    await inFolder?.release();
    throw error;
  }
}

/** Returns null if the folder supports no lock. Then only the name protects, as in the previous version. */
async function takeInFolder(folder: Parameters<typeof takeFolderLock>[0], until?: AbortSignal): Promise<Lock | null> {
  if (process.platform === 'win32') return null;
  try {
    return await takeFolderLock(folder, until);
  } catch (error) {
    if (isUnsupported(error) || (error instanceof LockFailure && error.why === 'unsupported')) return null;
    throw error;
  }
}
