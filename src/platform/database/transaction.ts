import assert from 'node:assert/strict';
import { type ClientBase, DatabaseError } from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import { lockKey } from './advisory-locks.ts';
import type { TransactionOptions, Tx } from './database.ts';
import { DatabaseUnavailable, isOutcomeUnknown, isRefused, withAvailability } from './database-error.ts';
import {
  commandOf,
  createQueryable,
  createStatementQueue,
  isSpoiled,
  rethrowTraced,
  runRollback,
  type StatementQueue,
  statementOf,
} from './run-statements.ts';
import type { Answer, Statement } from './statement-batch.ts';

/** `open` is true while statements may be sent. */
export interface TransactionScope {
  open: boolean;
}

function openTransaction(queue: StatementQueue, scope: TransactionScope): { tx: Tx; afterCommit: (() => void)[] } {
  const afterCommit: (() => void)[] = [];
  let depth = 0;

  const assertOpen = (): void => {
    assert(scope.open && !queue.closed(), 'this transaction has ended');
  };
  const ask = async (query: Sql): Promise<Answer> => {
    assertOpen();
    return await queue.ask(statementOf(query)).catch(rethrowTraced);
  };
  const askLast = async (query: Sql): Promise<Answer> => {
    assertOpen();
    assert(depth === 0, 'a transaction does not end inside a savepoint');
    return await queue.askLast(statementOf(query), COMMIT).catch(rethrowCommitError).catch(rethrowTraced);
  };
  const command = async (text: string): Promise<void> => {
    assertOpen();
    await queue.askAlone(commandOf(text));
  };

  const savepoint = async <T>(act: () => Promise<T>): Promise<T> => {
    depth += 1;
    const level = depth;
    const actsBefore = afterCommit.length;
    try {
      await command(`savepoint s${level}`);
      const value = await act();
      assert(depth === level, 'savepoints must end in the reverse order of their start');
      await command(`release savepoint s${level}`);
      return value;
    } catch (error) {
      afterCommit.length = actsBefore;
      queue.drop();
      // If this fails, the connection is gone, and the first error says why.
      await command(`rollback to savepoint s${level}`).catch(() => {});
      throw error;
    } finally {
      depth = level - 1;
    }
  };

  const tx: Tx = {
    ...createQueryable(ask),
    last: createQueryable(askLast),
    afterCommit: (act) => {
      assert(scope.open, 'this transaction has ended');
      afterCommit.push(act);
    },
    later: (query) => {
      assertOpen();
      queue.later(statementOf(query));
    },
    savepoint,
    lock: async (key) => {
      await ask(sql`select pg_advisory_xact_lock(${lockKey('transaction', key)}::int8)`);
    },
    lockShared: async (key) => {
      await ask(sql`select pg_advisory_xact_lock_shared(${lockKey('transaction', key)}::int8)`);
    },
  };
  return { tx, afterCommit };
}

function beginText(options: TransactionOptions): string {
  return `begin isolation level ${options.isolation ?? 'read committed'} ${options.readOnly === true ? 'read only' : 'read write'}`;
}

const COMMIT = commandOf('commit');

const PLAN_TEXTS = {
  once: 'set local plan_cache_mode = force_generic_plan',
  'each time': 'set local plan_cache_mode = force_custom_plan',
};

function beginStatements(options: TransactionOptions): Statement[] {
  const { statementTimeoutMs: limitMs } = options;
  const limit = limitMs === undefined ? [] : [commandOf(`set local statement_timeout = ${Math.ceil(limitMs)}`)];
  const plans = options.planned === undefined ? [] : [commandOf(PLAN_TEXTS[options.planned])];
  return [commandOf(beginText(options)), ...limit, ...plans];
}

/**
 * Returns true if a commit may be on disk despite its error: shutdown, lost connection, internal error, or a full disk that crashes the
 * server. If the server rejects a commit and keeps running, the commit was rolled back.
 */
function mayHaveCommitted(error: unknown): boolean {
  if (isRefused(error)) return false;
  if (!(error instanceof DatabaseError) || error.code === undefined) return true;
  return /^(?:08|53|57P|58|XX|F0|40003)/.test(error.code);
}

/** Rethrows the error of a statement that was sent together with the commit. */
function rethrowCommitError(error: unknown): never {
  throw mayHaveCommitted(error) ? unknownOutcome(error) : error;
}

function unknownOutcome(error: unknown): DatabaseUnavailable {
  return error instanceof DatabaseUnavailable && error.outcomeUnknown ? error : new DatabaseUnavailable(error, true);
}

/** Returns the error of a commit whose outcome is unknown. A lost connection fails all statements of the batch, in any order. */
async function findLostCommit(queue: StatementQueue): Promise<DatabaseUnavailable | null> {
  const ending = queue.ended();
  if (ending === null) return null;
  return ending.answer.then(
    () => null,
    (error: unknown) => (mayHaveCommitted(error) ? unknownOutcome(error) : null),
  );
}

async function commitTransaction(queue: StatementQueue): Promise<void> {
  // Statements that nobody awaited are sent with the commit. If the server reports that one of them failed, there was no commit.
  const ending = queue.end(COMMIT);
  if (ending === null) return;
  for (const last of ending.trailing) {
    await last.catch((error: unknown) => {
      if (error instanceof DatabaseError) throw error;
    });
  }
  const { command } = await ending.answer.catch(rethrowCommitError);
  // After a failed statement the server answers a commit with ROLLBACK and no error.
  assert(command === 'COMMIT', 'a failed statement was passed over inside this transaction: it is rolled back');
}

/** Runs one transaction on the connection. Returns the callbacks to run after the commit. */
export async function runTransaction<T>(
  client: ClientBase,
  act: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
  inScope: (scope: TransactionScope, act: () => Promise<T>) => Promise<T>,
): Promise<{ value: T; afterCommit: (() => void)[] }> {
  const scope: TransactionScope = { open: true };
  const queue = createStatementQueue(client, beginStatements(options), options.statementTimeoutMs);
  const { tx, afterCommit } = openTransaction(queue, scope);
  try {
    const value = await inScope(scope, () => act(tx));
    scope.open = false;
    await queue.allAnswered();
    await commitTransaction(queue);
    return { value, afterCommit };
  } catch (error) {
    scope.open = false;
    await queue.allAnswered();
    const lost = await findLostCommit(queue);
    if (lost !== null) throw lost;
    // If this fails too, the connection is closed and the server rolls back on its own.
    if (queue.hasBegun() && !isOutcomeUnknown(error) && !isSpoiled(client)) await runRollback(client).catch(() => {});
    throw withAvailability(error, false);
  }
}
