import { DatabaseError } from 'pg';

/** Thrown if the database cannot be reached or cannot work now, or if the connection was lost. Nothing is retried automatically. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  /** True if a statement or commit was sent and never answered, so it may or may not have taken effect. */
  readonly outcomeUnknown: boolean;

  constructor(cause: unknown, outcomeUnknown: boolean) {
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
    super(`database unavailable${outcomeUnknown ? ', outcome unknown' : ''}: ${reason}`, { cause });
    this.outcomeUnknown = outcomeUnknown;
  }
}

const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOENT', // the socket file of a server that is not there
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * SQLSTATEs of a server that is unavailable for now: connection lost (08), out of disk, memory or connections (53), shutting down or
 * starting (57, except canceled statements), file errors (58), idle timeout (25P03), read-only because it is a standby or closed to writes
 * (25006), and a session whose prepared statements others have changed (26000, 42P05).
 */
const UNAVAILABLE = /^(?:08...|53...|57(?!014)...|58...|25P03|25006|26000|42P05)$/;

/** Our own code for a primary that another server has replaced. */
export const SPLIT_CODE = 'split';

/** The first matching prefix wins, so exact codes come before their classes. */
const CAUSES: readonly (readonly [string, string])[] = [
  ['53100', 'disk_full'],
  ['53200', 'out_of_memory'],
  ['53300', 'too_many_connections'],
  ['53', 'out_of_resources'],
  ['58', 'io_error'],
  ['25006', 'read_only'],
  ['26000', 'session_shared'],
  ['42P05', 'session_shared'],
  [SPLIT_CODE, 'split'],
];

/** The driver reports these without a code. */
const DRIVER_MESSAGES = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
]);

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns true if the database is unreachable or cannot work now: disk full, out of memory or connections, read-only. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (error instanceof DatabaseError) return code !== undefined && UNAVAILABLE.test(code);
  return (code !== undefined && SYSTEM_CODES.has(code)) || DRIVER_MESSAGES.has(error.message);
}

/**
 * Returns true if the server could not execute the statement or commit, such as on a full disk, but keeps running, so the transaction was
 * rolled back. A PANIC may carry the same code but does not count, because the commit may be on disk.
 */
export function isRefused(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.severity === 'ERROR' && isUnavailable(error);
}

/** Returns true if the server accepts no writes, because it became a standby or was closed to them. */
export function isReadOnly(error: unknown): boolean {
  return sqlstateOf(error) === '25006';
}

/** Returns the cause in one word, for operators. Null for other SQLSTATEs. */
export function whyUnavailable(error: unknown): string | null {
  const code = sqlstateOf(error);
  return CAUSES.find(([prefix]) => code?.startsWith(prefix))?.[1] ?? null;
}

function sqlstateOf(error: unknown): string | undefined {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  return cause instanceof Error ? codeOf(cause) : undefined;
}

/**
 * Returns true if a commit stopped waiting for its standby because somebody canceled the wait. The commit is done on the primary and would
 * be lost with it. The message is in the server's language, so we match the PostgreSQL source file that reports these warnings.
 */
export function isWaitCanceled(notice: { file?: string | undefined }): boolean {
  return notice.file?.endsWith('syncrep.c') === true;
}

/** Returns the error of a commit that the server reports as done after such a warning. */
export function unreplicatedCommit(): DatabaseUnavailable {
  return new DatabaseUnavailable(new Error('the wait of a commit for its synchronous standby was canceled'), true);
}

/** Returns true if the work may or may not have happened. `isUnavailable` is true for such an error too. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.outcomeUnknown;
}

/** Wraps errors of an unavailable database in `DatabaseUnavailable`. Returns any other error unchanged. */
export function withAvailability(error: unknown, outcomeUnknown: boolean): unknown {
  return isUnavailable(error) && !(error instanceof DatabaseUnavailable)
    ? new DatabaseUnavailable(error, outcomeUnknown && !isRefused(error))
    : error;
}

/** Returns the violated constraint, or null for other errors. A trigger may name its rule with `using constraint`. */
export function constraintOf(error: unknown): { sqlstate: string; constraint: string | null } | null {
  if (!(error instanceof DatabaseError) || error.code === undefined) return null;
  if (!error.code.startsWith('23') && error.constraint === undefined) return null;
  return { sqlstate: error.code, constraint: error.constraint ?? null };
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23505', constraint);
}

export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23503', constraint);
}

function isViolation(error: unknown, sqlstate: string, constraint: string | undefined): boolean {
  const broken = constraintOf(error);
  return broken?.sqlstate === sqlstate && (constraint === undefined || broken.constraint === constraint);
}
