import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ofOwner, own } from '../contract/own-words.ts';
import { LockFailure } from '../locks/lock-failure.ts';
import { takeLock } from '../locks/take-lock.ts';
import { type AgentError, refusedFile } from './agent-error.ts';

export interface LockOptions {
  /** If the file is in use, waits for it until this signal is aborted. If omitted, throws `file_in_use`. */
  until?: AbortSignal;
  /** Whether to throw if the file can't be locked at all. If false, work continues without a lock. */
  needed?: boolean;
}

export interface FileLock {
  release(): Promise<void>;
}

/**
 * Returns the name of a file's lock, which is in the same folder. It exists while a process uses the file. After a kill it locks nothing.
 */
export function lockNameOf(path: string): string {
  return `.${basename(path)}.lock`;
}

/**
 * Locks a file against other processes and other calls in this one. The lock is beside the file, so only users who may write there can take
 * it. However the process ends, the lock is released. The lock doesn't work across machines. Throws `file_in_use` and, with `needed`,
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

function refusalOf({ why, pid, path: blockingPath }: LockFailure, path: string): AgentError {
  const process = pid === null ? own`` : own` (process ${pid})`;
  switch (why) {
    case 'held':
    case 'held_by_earlier': {
      const version = why === 'held' ? own`` : own` of an earlier version`;
      return refusedFile(
        own`Another openaisle process${version} is using ${ofOwner(path)}${process}`,
        own`Wait until it ends, then run this again.`,
        'file_in_use',
      );
    }
    case 'held_out_of_sight':
      return refusedFile(
        own`An earlier version of openaisle may be using ${ofOwner(path)}, or another user of this machine is listening on @${ofOwner(blockingPath ?? lockNameOf(path))}`,
        own`Find the process (as root: ss -xlp), end it, then run this again.`,
        'file_in_use',
      );
    case 'foreign':
      return refusedFile(
        own`${ofOwner(blockingPath ?? lockNameOf(path))} belongs to another user of this machine, so ${ofOwner(path)} can’t be locked`,
        own`Remove it, and let nobody else write to that folder.`,
        'no_lock',
      );
    case 'unsupported':
      return refusedFile(
        own`This system can’t lock ${ofOwner(path)}`,
        own`Run openaisle outside the sandbox, and keep the file on a local disk.`,
        'no_lock',
      );
  }
}
