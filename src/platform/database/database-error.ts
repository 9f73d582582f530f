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

/** Too many connections; ended by an idle timeout. The classes 08 and 57P (shutdown, starting up) are tested apart. */
const SQLSTATES = new Set(['53300', '25P03']);

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

/** Whether the database is away for now: refused, reset, shutting down, starting up, out of connections, too slow to connect. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (error instanceof DatabaseError)
    return code !== undefined && (SQLSTATES.has(code) || code.startsWith('08') || code.startsWith('57P'));
  return (code !== undefined && SYSTEM_CODES.has(code)) || DRIVER_MESSAGES.has(error.message);
}

/** Whether what was asked for may or may not have happened. Always unavailable too. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.outcomeUnknown;
}

/** The same error, or a `DatabaseUnavailable` around it when the connection is what failed. */
export function withAvailability(error: unknown, outcomeUnknown: boolean): unknown {
  return isUnavailable(error) && !(error instanceof DatabaseUnavailable)
    ? new DatabaseUnavailable(error, outcomeUnknown)
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
