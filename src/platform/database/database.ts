import type { Sql } from 'sql-template-tag';

/** Anything a query can be given to: the pool or one open transaction. Each distinct text is prepared once per connection. */
export interface Queryable {
  /** All rows. */
  rows<T>(query: Sql): Promise<T[]>;
  /** Exactly one row. None or more is a bug and throws an assertion error. */
  one<T>(query: Sql): Promise<T>;
  /** The row, or null. More than one is a bug and throws an assertion error. */
  maybe<T>(query: Sql): Promise<T | null>;
  /** The number of rows touched. */
  run(query: Sql): Promise<number>;
}

/**
 * One open transaction on one connection. Using it after its end throws an assertion error. Statements that are handed in at once,
 * without waiting for one another, travel together: they run in that order, and none after the first that fails.
 */
export interface Tx extends Queryable {
  /**
   * Runs together with the next statement, or with the commit, so that it costs no round trip of its own. If it fails, that statement
   * fails, and with it the transaction. Its answer is dropped.
   */
  later(query: Sql): void;
  /**
   * For the last statement: the commit goes to the server with it, so that it costs no round trip of its own. Whatever its answer, it is
   * committed, unless the server refuses it; what is thrown after that takes nothing back. A statement after it throws.
   */
  last: Queryable;
  /**
   * Runs after a successful commit, in the order of registration; never after a rollback, nor when the outcome of the
   * commit is unknown. Named inside a savepoint, it is dropped with that savepoint. Acts must not throw: the row is already there.
   */
  afterCommit(act: () => void): void;
  /** Runs `act` inside a savepoint. When it throws, only its own work is rolled back and the error is thrown on. */
  savepoint<T>(act: () => Promise<T>): Promise<T>;
  /** Waits for, then holds until the end of the transaction, the lock named `key` (one holder across all processes). */
  lock(key: string): Promise<void>;
  /** The same lock, but side by side with all who share it: it waits for a holder of `lock`, and keeps one waiting. */
  lockShared(key: string): Promise<void>;
}

export interface TransactionOptions {
  /** Default: read committed. */
  isolation?: 'read committed' | 'repeatable read';
  readOnly?: boolean;
  /** How long one statement may take, in place of what the database was opened with: for reading very much from a cold disk. */
  statementTimeoutMs?: number;
  /**
   * `once` a connection, without a look at the parameters: for what runs all the time, of which planning would be most of the work, and
   * whose best plan does not depend on them. `each time`, with a look at them and at how large the tables are by now. Default: PostgreSQL
   * decides, and may keep for good the plan that it made when they were empty.
   */
  planned?: 'once' | 'each time';
}

export interface Database extends Queryable {
  /**
   * Commits when `act` returns, rolls back when it throws. Nothing is retried.
   * Inside `act` the database itself must not be used, as that would run outside the transaction: it throws.
   * An error for which `isOutcomeUnknown` holds means the commit was asked for and never answered, or did not wait for the standby that it
   * had to wait for: it may have happened, and may be lost with the primary.
   */
  transaction<T>(act: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Runs `act` while no other call, in any process, runs under the same key; null at once while another one does (in this process, too).
   * The right dies with the process, and with the session that holds it: a cut connection ends it early (then `lost` is aborted), so what
   * must never break is held by constraints and not by this alone.
   * Keys here and keys of `Tx.lock` are separate.
   */
  withAdvisoryLock<T>(key: string, act: (lost: AbortSignal) => Promise<T>): Promise<{ value: T } | null>;
  /**
   * Runs `act` on each new connection to another server than before, or to a restarted one, before the connection is used for
   * anything else; when it throws, the connection is given up. One listener; it is not run for the server that is connected to now.
   */
  onOtherServer(act: (queryable: Queryable) => Promise<void>): void;
  /** Waits for running queries, then closes every connection. */
  close(): Promise<void>;
}

/** Everything that `read` asks is of one moment. */
export async function inSnapshot<T>(database: Database, read: (queryable: Queryable) => Promise<T>): Promise<T> {
  return database.transaction(read, { isolation: 'repeatable read', readOnly: true });
}
