export type WhyNotLocked =
  /** Another process works on it. */
  | 'held'
  /** A process of the version before does. */
  | 'held_by_earlier'
  /** Its name of the version before is taken, and this process may not see by whom. */
  | 'held_out_of_sight'
  /** Something of another user stands where the lock belongs. */
  | 'foreign'
  /** The system gives no lock there. */
  | 'unsupported';

interface Details {
  /** The process that holds it, where that is known. */
  pid?: number | null;
  /** The file that stands in the way, or the name that is taken. */
  path?: string;
  cause?: unknown;
}

/** A lock that was not given. */
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

/** Errors of systems that give no socket or no link there: a sandbox, a read-only or a full disk, a file system without them. */
const UNSUPPORTED = new Set([
  ...['EPERM', 'EACCES', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL'],
  ...['ENAMETOOLONG', 'EAFNOSUPPORT', 'EPROTONOSUPPORT'],
]);

export function isUnsupported(error: unknown): boolean {
  return UNSUPPORTED.has(codeOf(error));
}
