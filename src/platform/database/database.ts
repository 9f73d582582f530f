import type { Sql } from 'sql-template-tag';

/** The pool, or one open transaction. Each connection prepares a query text only once, up to a number of texts. */
export interface Queryable {
  rows<T>(query: Sql): Promise<T[]>;
  /** Returns exactly one row. Any other number is a bug and throws an assertion error. */
  one<T>(query: Sql): Promise<T>;
  /** Returns the row or null. More than one row is a bug and throws an assertion error. */
  maybe<T>(query: Sql): Promise<T | null>;
  /** Returns the number of affected rows. */
  run(query: Sql): Promise<number>;
}

/**
 * One open transaction on one connection. Using it after its end throws. Statements issued without awaiting each other are sent together,
 * in order. After the first failure, none of the remaining statements runs.
 */
export interface Tx extends Queryable {
  /** Sends the query with the next statement or the commit, without a round trip. Discards the answer; a failure fails the transaction. */
  later(query: Sql): void;
  /**
   * Runs the final statement together with the commit, which saves a round trip. The transaction is committed whatever the statement
   * returns, unless the server rejects it; an error thrown later undoes nothing. Any further statement throws.
   */
  last: Queryable;
  /**
   * Runs `act` after a successful commit, in order of registration, but not after a rollback or an unknown outcome. If registered inside a
   * savepoint, it is dropped when that savepoint is rolled back. `act` must not throw, because the data is already committed.
   */
  afterCommit(act: () => void): void;
  /** Runs `act` inside a savepoint. If `act` throws, rolls back only its own work and rethrows the error. */
  savepoint<T>(act: () => Promise<T>): Promise<T>;
  /** Waits for the lock named `key` and holds it until the transaction ends. Only one transaction of all processes can hold it. */
  lock(key: string): Promise<void>;
  /** Takes the same lock in shared mode. Shared holders do not wait for each other, but wait for a `lock` holder and make it wait. */
  lockShared(key: string): Promise<void>;
}

export interface TransactionOptions {
  isolation?: 'read committed' | 'repeatable read';
  readOnly?: boolean;
  /** Replaces the database's statement timeout, for long reads from a cold disk. */
  statementTimeoutMs?: number;
  /**
   * `once`: plan once per connection, without looking at the parameters. For frequent statements whose best plan does not depend on the
   * parameters, because planning would be most of their cost. `each time`: plan for the given parameters and current table sizes. Default:
   * PostgreSQL decides, and may keep a plan from when the tables were empty.
   */
  planned?: 'once' | 'each time';
}

export interface Database extends Queryable {
  /**
   * Commits when `act` returns and rolls back when it throws. Nothing is retried. Using the database itself inside `act` throws, because
   * that query would run outside the transaction. If `isOutcomeUnknown` is true for the error, the commit was never answered or did not
   * wait for its standby: it may have happened, and may be lost with the primary.
   */
  transaction<T>(act: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Runs `act` while no other call in any process runs under the same key. If one does, even in this process, returns null at once. The
   * lock ends with the process and with the session that holds it. A lost connection ends the lock early and aborts `lost`, so constraints
   * must enforce the invariants, and not this lock alone. These keys are separate from the keys of `Tx.lock`.
   */
  withAdvisoryLock<T>(key: string, act: (lost: AbortSignal) => Promise<T>): Promise<{ value: T } | null>;
  /**
   * Runs `act` when a new connection reaches a different server or a restarted one, before anything else uses that connection. If `act`
   * throws, the connection is closed. There is only one listener; it does not run for the server connected now.
   */
  onOtherServer(act: (queryable: Queryable) => Promise<void>): void;
  close(): Promise<void>;
}

/** Runs all queries of `read` on the same snapshot. */
export async function inSnapshot<T>(database: Database, read: (queryable: Queryable) => Promise<T>): Promise<T> {
  return database.transaction(read, { isolation: 'repeatable read', readOnly: true });
}
