import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type EarlierName, holdEarlierName } from './earlier-name.ts';
import { type Lock, takeFolderLock } from './folder-lock.ts';
import { isUnsupported, LockFailure } from './lock-failure.ts';

export type { Lock } from './folder-lock.ts';

export interface LockPlace {
  /** Holds the lock. Users who may write in it may take the lock; others may not. */
  folder: string;
  /** The lock's own name in there. */
  name: string;
  earlier: EarlierName;
}

/**
 * Makes this call the only one that has the lock, in all processes that see the folder, until it is released or the process dies, however
 * it dies. What a dead one leaves is taken away by the next. Waits until the signal; without one a lock that is held is refused at once. Not
 * for folders of other machines. Throws `LockFailure`, and as the file system does where the folder is missing.
 */
export async function takeLock({ folder, name, earlier }: LockPlace, until?: AbortSignal): Promise<Lock> {
  const owners = new Set([(await stat(folder)).uid, process.getuid?.() ?? 0]);
  // Root may do all of this anyway, and its lock counts.
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

/** Null where the folder can hold none: then the name alone has to do, as in the version before. */
async function takeInFolder(folder: Parameters<typeof takeFolderLock>[0], until?: AbortSignal): Promise<Lock | null> {
  if (process.platform === 'win32') return null;
  try {
    return await takeFolderLock(folder, until);
  } catch (error) {
    if (isUnsupported(error) || (error instanceof LockFailure && error.why === 'unsupported')) return null;
    throw error;
  }
}
