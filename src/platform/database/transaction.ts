import assert from 'node:assert/strict';
import { type ClientBase, DatabaseError, type QueryResult } from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import type { TransactionOptions, Tx } from './database.ts';
import { DatabaseUnavailable, isOutcomeUnknown, withAvailability } from './database-error.ts';
import { lockKey } from './lock-key.ts';
import { createQueryable, isSpoiled, runCommand, runQuery } from './run-query.ts';

/** True as long as statements may go into the transaction. */
export interface TransactionScope {
  open: boolean;
}

interface OpenTransaction {
  tx: Tx;
  /** Statements handed in and not yet answered. */
  settled(): Promise<unknown>;
  afterCommit: (() => void)[];
}

function openTransaction(client: ClientBase, scope: TransactionScope): OpenTransaction {
  const afterCommit: (() => void)[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let depth = 0;

  // One connection runs one statement at a time, in the order they were handed in.
  const inTurn = async (start: () => Promise<QueryResult>): Promise<QueryResult> => {
    assert(scope.open, 'this transaction has ended');
    const answer = last.then(start).catch((error: unknown) => {
      throw withAvailability(error, false);
    });
    last = answer.catch(() => {});
    return answer;
  };
  const ask = (query: Sql): Promise<QueryResult> => inTurn(() => runQuery(client, query));
  const command = (text: string): Promise<QueryResult> => inTurn(() => runCommand(client, text));

  const savepoint = async <T>(act: () => Promise<T>): Promise<T> => {
    depth += 1;
    const mine = depth;
    const actsBefore = afterCommit.length;
    try {
      await command(`savepoint s${mine}`);
      const value = await act();
      assert(depth === mine, 'savepoints must end in the reverse order of their start');
      await command(`release savepoint s${mine}`);
      return value;
    } catch (error) {
      afterCommit.length = actsBefore;
      // When this fails, the connection is gone and the first error says why.
      await command(`rollback to savepoint s${mine}`).catch(() => {});
      throw error;
    } finally {
      depth = mine - 1;
    }
  };

  const tx: Tx = {
    ...createQueryable(ask),
    afterCommit: (act) => {
      assert(scope.open, 'this transaction has ended');
      afterCommit.push(act);
    },
    savepoint,
    lock: async (key) => {
      await ask(sql`select pg_advisory_xact_lock(${lockKey('transaction', key)}::int8)`);
    },
  };
  return { tx, settled: () => last, afterCommit };
}

function beginText(options: TransactionOptions): string {
  return `begin isolation level ${options.isolation ?? 'read committed'} ${options.readOnly === true ? 'read only' : 'read write'}`;
}

/** Shutdown, lost connections, internal errors and full disks: after these a commit may be on disk all the same. */
function mayHaveCommitted(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.code === undefined) return true;
  return /^(?:08|53|57P|58|XX|F0|40003)/.test(error.code);
}

async function commit(client: ClientBase): Promise<void> {
  let result: QueryResult;
  try {
    result = await runCommand(client, 'commit');
  } catch (error) {
    throw mayHaveCommitted(error) ? new DatabaseUnavailable(error, true) : error;
  }
  // The server answers a commit after a failed statement with a rollback, and without an error.
  assert(result.command === 'COMMIT', 'a failed statement was passed over inside this transaction: it is rolled back');
}

/** Runs one transaction on a connection of its own. Returns what to do after the commit. */
export async function runTransaction<T>(
  client: ClientBase,
  act: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
  inScope: (scope: TransactionScope, act: () => Promise<T>) => Promise<T>,
): Promise<{ value: T; afterCommit: (() => void)[] }> {
  const scope: TransactionScope = { open: true };
  const { tx, settled, afterCommit } = openTransaction(client, scope);
  try {
    await runCommand(client, beginText(options));
    const value = await inScope(scope, () => act(tx));
    scope.open = false;
    await settled();
    await commit(client);
    return { value, afterCommit };
  } catch (error) {
    scope.open = false;
    await settled();
    // When this fails too, the connection is given up and the server rolls back by itself.
    if (!isOutcomeUnknown(error) && !isSpoiled(client)) await runCommand(client, 'rollback').catch(() => {});
    throw withAvailability(error, false);
  }
}
