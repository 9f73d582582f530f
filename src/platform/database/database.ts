import type { Sql } from 'sql-template-tag';

/** The pool, or one open transaction. Each connection prepares a query text once. */
export interface Queryable {
  rows<T>(query: Sql): Promise<T[]>;
  /** Returns exactly one row. Any other number is a bug and throws an assertion error. */
  one<T>(query: Sql): Promise<T>;
  /** Returns the row or null. More than one row is a bug and throws an assertion error. */
  maybe<T>(query: Sql): Promise<T | null>;
  /** Returns the number of rows touched. */
  run(query: Sql): Promise<number>;
}

/**
 * One open transaction on one connection; using it after its end throws. Statements issued without waiting for each other travel together,
 * in order; after the first failure none of the rest runs.
 */
export interface Tx extends Queryable {
  /** Sends the query with the next statement or the commit, at no extra round trip. Drops its answer; its failure fails the transaction. */
  later(query: Sql): void;
  /**
   * Runs the last statement together with the commit, to save a round trip. The transaction is committed whatever the answer contains,
   * unless the server refuses it; an error thrown later undoes nothing. A further statement throws.
   */
  last: Queryable;
  /**
   * Runs after a successful commit, in order of registration; not after a rollback or an unknown outcome. An act registered inside a
   * savepoint is dropped if that savepoint is rolled back. Acts must not throw: the data is already committed.
   */
  afterCommit(act: () => void): void;
  /** Runs `act` inside a savepoint. If it throws, only its own work is rolled back and the error is rethrown. */
  savepoint<T>(act: () => Promise<T>): Promise<T>;
  /** Waits for the lock named `key` and holds it until the transaction ends. One holder across all processes. */
  lock(key: string): Promise<void>;
  /** Takes the same lock in shared mode: sharers run side by side, but wait for a `lock` holder and block one. */
  lockShared(key: string): Promise<void>;
}

export interface TransactionOptions {
  isolation?: 'read committed' | 'repeatable read';
  readOnly?: boolean;
  /** Replaces the statement timeout of the database, for long reads from a cold disk. */
  statementTimeoutMs?: number;
  /**
   * `once`: plan once per connection, without looking at the parameters. For frequent statements whose best plan does not depend on them;
   * planning would be most of their cost. `each time`: plan for the given parameters and current table sizes. Default: PostgreSQL decides,
   * and may keep a plan that it made when the tables were empty.
   */
  planned?: 'once' | 'each time';
}

export interface Database extends Queryable {
  /**
   * Commits when `act` returns, rolls back when it throws. Nothing is retried. Using the database itself inside `act` throws, because that
   * query would run outside the transaction. With an error for which `isOutcomeUnknown` holds, the commit was never answered, or did not
   * wait for its standby: it may have happened, and may be lost with the primary.
   */
  transaction<T>(act: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Runs `act` while no other call in any process runs under the same key; returns null at once if one does, in this process too. The lock
   * ends with the process and with the session that holds it. A cut connection ends it early and aborts `lost`, so invariants must be held
   * by constraints, not by this lock alone. Keys here and keys of `Tx.lock` are separate.
   */
  withAdvisoryLock<T>(key: string, act: (lost: AbortSignal) => Promise<T>): Promise<{ value: T } | null>;
  /**
   * Runs `act` on each new connection to another or a restarted server, before anything else uses that connection. If it throws, the
   * connection is given up. There is one listener; it does not run for the server connected now.
   */
  onOtherServer(act: (queryable: Queryable) => Promise<void>): void;
  close(): Promise<void>;
}

/** Runs all queries of `read` on one snapshot. */
export async function inSnapshot<T>(database: Database, read: (queryable: Queryable) => Promise<T>): Promise<T> {
  return database.transaction(read, { isolation: 'repeatable read', readOnly: true });
}
