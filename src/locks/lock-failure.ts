export type WhyNotLocked =
  /** Another process holds the lock. */
  | 'held'
  /** A process of the previous version holds the lock. */
  | 'held_by_earlier'
  /** The name of the previous version is taken, and we may not see by which process. */
  | 'held_out_of_sight'
  /** The file at the lock's path belongs to another user or is not a lock. */
  | 'foreign'
  /** The folder supports no lock, or others may write to the lock. */
  | 'unsupported';

interface Details {
  /** The process that holds the lock, if known. */
  pid?: number | null;
  /** The file in the way, or the taken name. */
  path?: string;
  cause?: unknown;
}

export class LockFailure extends Error {
  override readonly name = 'LockFailure';
  readonly why: WhyNotLocked;
  readonly pid: number | null;
  readonly path: string | null;

  constructor(why: WhyNotLocked, { pid = null, path, cause }: Details = {}) {
    super(`no lock: ${why}`, { cause });
    this.why = why;
    this.pid = pid;
    this.path = path ?? null;
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Errors of systems without sockets or links at that place: a sandbox, a read-only or full disk, a file system that lacks them. */
const UNSUPPORTED = new Set([
  ...['EPERM', 'EACCES', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL'],
  ...['ENAMETOOLONG', 'EAFNOSUPPORT', 'EPROTONOSUPPORT'],
]);

export function isUnsupported(error: unknown): boolean {
  return UNSUPPORTED.has(codeOf(error));
}
