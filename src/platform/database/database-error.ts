import { DatabaseError } from 'pg';

/** The database could not be reached, or was lost on the way. Nothing is retried behind the caller's back. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  /** True when a statement or commit was sent and never answered: its effect may be there or not. */
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
 * Connection lost (08), out of disk, memory or connections (53), shutdown and starting up (57, without a canceled statement), files that
 * cannot be read or written (58), ended by an idle timeout, a server that takes no writes, as it has become a standby or was closed to them,
 * and a session that others have prepared statements in, or taken them away from.
 */
const AWAY = /^(?:08...|53...|57(?!014)...|58...|25P03|25006|26000|42P05)$/;

/** Ours, of a primary whose place another one has taken. */
export const SPLIT_CODE = 'split';

/** Where the server says so itself; by class where the code is none of these. */
const WHYS: readonly (readonly [string, string])[] = [
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

/** The driver gives these no code. */
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

/**
 * Whether the database is away for now: refused, reset, shutting down, starting up, too slow to connect; or there and unable to do its
 * work, since its disk is full, it is out of connections or memory, or takes no writes.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (error instanceof DatabaseError) return code !== undefined && AWAY.test(code);
  return (code !== undefined && SYSTEM_CODES.has(code)) || DRIVER_MESSAGES.has(error.message);
}

/**
 * Whether the server answered that it is away, and lives: the statement, or the commit, was refused and its transaction is rolled back.
 * A PANIC may carry the same code, and is none: what was asked for may be on disk.
 */
export function isRefused(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.severity === 'ERROR' && isUnavailable(error);
}

/** Whether the server takes no writes: it has become a standby, or was closed to them. */
export function isReadOnly(error: unknown): boolean {
  return sqlstateOf(error) === '25006';
}

/** The cause in one word, for operators; null where the SQLSTATE names none. */
export function whyUnavailable(error: unknown): string | null {
  const code = sqlstateOf(error);
  return WHYS.find(([prefix]) => code?.startsWith(prefix))?.[1] ?? null;
}

function sqlstateOf(error: unknown): string | undefined {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  return cause instanceof Error ? codeOf(cause) : undefined;
}

/**
 * Whether the server says that a commit stopped waiting for its standby, since somebody canceled it: it is done on the primary, and would be
 * lost with it. Its text is in the server's language, so this goes by the one source file of PostgreSQL that such warnings come from.
 */
export function isWaitCanceled(notice: { file?: string | undefined }): boolean {
  return notice.file?.endsWith('syncrep.c') === true;
}

/** The error of a commit that the server calls done, after such a warning. */
export function unreplicatedCommit(): DatabaseUnavailable {
  return new DatabaseUnavailable(new Error('the wait of a commit for its synchronous standby was canceled'), true);
}

/** Whether what was asked for may or may not have happened. Always unavailable too. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.outcomeUnknown;
}

/** The same error, or a `DatabaseUnavailable` around it when the connection is what failed. */
export function withAvailability(error: unknown, outcomeUnknown: boolean): unknown {
  return isUnavailable(error) && !(error instanceof DatabaseUnavailable)
    ? new DatabaseUnavailable(error, outcomeUnknown && !isRefused(error))
    : error;
}

/** What a broken rule of the schema is called; null for every other error. A trigger may name its rule with `using constraint`. */
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
