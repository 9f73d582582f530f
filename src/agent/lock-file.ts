import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ofOwner, own } from '../contract/own-words.ts';
import { LockFailure } from '../locks/lock-failure.ts';
import { takeLock } from '../locks/take-lock.ts';
import { type AgentError, refusedFile } from './agent-error.ts';

export interface LockOptions {
  /** Waits until the file is free or this is aborted. Without it a file in use is refused at once. */
  until?: AbortSignal;
  /** Refuses where the system gives no lock, instead of going on without one. */
  needed?: boolean;
}

export interface FileLock {
  release(): Promise<void>;
}

/** The name of a file's lock, beside the file. It is there while somebody works on the file, or was killed at it. */
export function lockNameOf(path: string): string {
  return `.${basename(path)}.lock`;
}

/**
 * Makes this process the only one that works on a file, and this call the only one in its process, by a lock beside the file that only who
 * may write there can take. It ends with the process, however that ends. It does not reach across machines. Throws `file_in_use`; with `needed`, also
 * `no_lock`.
 */
export async function lockFile(path: string, { until, needed = false }: LockOptions = {}): Promise<FileLock> {
  const folder = dirname(path);
  const { dev, ino } = await stat(folder, { bigint: true });
  const digest = createHash('sha256')
    .update(`${dev}-${ino}-${basename(path)}`)
    .digest('hex')
    .slice(0, 32);
  const earlier = { name: `openaisle-${digest}`, folder: `/tmp/openaisle-${process.getuid?.() ?? 0}` };
  try {
    return await takeLock({ folder, name: lockNameOf(path), earlier }, until);
  } catch (error) {
    if (!(error instanceof LockFailure)) throw error;
    const isHeld = error.why !== 'foreign' && error.why !== 'unsupported';
    if (!isHeld && !needed) return { release: async () => {} };
    throw refusalOf(error, path);
  }
}

function refusalOf({ why, pid, path: inTheWay }: LockFailure, path: string): AgentError {
  const process = pid === null ? own`` : own` (process ${pid})`;
  switch (why) {
    case 'held':
    case 'held_by_earlier': {
      const version = why === 'held' ? own`` : own`, of an earlier version,`;
      return refusedFile(
        own`Another openaisle${version} is working on ${ofOwner(path)}${process}`,
        own`Wait until it has ended, then run this again.`,
        'file_in_use',
      );
    }
    case 'held_out_of_sight':
      return refusedFile(
        own`An openaisle of an earlier version may be working on ${ofOwner(path)}, or another user of this machine listens at the name @${ofOwner(inTheWay ?? lockNameOf(path))}`,
        own`See who does (as root: ss -xlp), end it, then run this again.`,
        'file_in_use',
      );
    case 'foreign':
      return refusedFile(
        own`${ofOwner(inTheWay ?? lockNameOf(path))} belongs to another user of this machine, and ${ofOwner(path)} is locked there`,
        own`Remove it, and let nobody else write into that folder.`,
        'no_lock',
      );
    case 'unsupported':
      return refusedFile(
        own`This system gives no lock on ${ofOwner(path)}`,
        own`Run it outside of the sandbox, and keep the file on a local disk.`,
        'no_lock',
      );
  }
}
