import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type ClientBase, DatabaseError } from 'pg';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from './database.ts';
import { isReadOnly, isRefused, isUnavailable, withAvailability } from './database-error.ts';
import { type Answer, runBatch, type Statement } from './statement-batch.ts';

const MAX_NAMES = 1_000;
const names = new Map<string, string>();

function statementName(text: string): string {
  const cached = names.get(text);
  if (cached !== undefined) return cached;
  const name = `q_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  if (names.size >= MAX_NAMES) names.clear();
  names.set(text, name);
  return name;
}

const spoiled = new WeakSet<ClientBase>();

/** Names a query after its text, so that each connection prepares the text once. */
export function statementOf({ text, values }: Sql): Statement {
  // The driver would write NULL for undefined, and a forgotten field must not become NULL.
  assert(!values.includes(undefined), `undefined value in query: ${text}`);
  return { name: statementName(text), text, values };
}

export function commandOf(text: string): Statement {
  return { name: statementName(text), text, values: [] };
}

export async function runQuery(client: ClientBase, query: Sql): Promise<Answer> {
  const [answer] = runStatements(client, [statementOf(query)]);
  assert(answer !== undefined);
  return await answer.catch(rethrowTraced);
}

/** Rethrows with the caller's stack, which is lost by the time the answer arrives. */
export function rethrowTraced(error: unknown): never {
  if (error instanceof DatabaseError) Error.captureStackTrace(error);
  throw error;
}

function runStatements(client: ClientBase, statements: readonly Statement[], limitMs?: number): Promise<Answer>[] {
  return runBatch(client, statements, limitMs).map((answer) => {
    const watched = watchConnection(client, answer);
    watched.catch(() => {});
    return watched;
  });
}

/** Rolls back with a plain query, which needs no prepared statement. */
export async function runRollback(client: ClientBase): Promise<void> {
  await watchConnection(client, client.query('rollback'));
}

async function watchConnection<T>(client: ClientBase, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isConnectionUsable(error)) spoiled.add(client);
    throw error;
  }
}

/**
 * Returns whether the connection is still usable after an error. Most SQL errors do no harm, a full disk included. A connection to a
 * read-only server is dropped. A prepared statement that no longer fits its tables, is gone, or was prepared by somebody else would keep
 * failing. After an error that the server did not send, unread data may be on the wire.
 */
function isConnectionUsable(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || isReadOnly(error)) return false;
  return (isRefused(error) || !isUnavailable(error)) && !['0A000', '26000', '42P05'].includes(error.code ?? '');
}

export function isSpoiled(client: ClientBase): boolean {
  return spoiled.has(client);
}

/** Returns true if the connection is healthy and outside of any transaction. */
export function isReusable(client: ClientBase): boolean {
  return !spoiled.has(client) && client.getTransactionStatus() === 'I';
}

/** Builds the four query methods on top of `run`. */
export function createQueryable(run: (query: Sql) => Promise<Answer>): Queryable {
  return {
    rows: async <T>(query: Sql) => (await run(query)).rows as T[],
    one: async <T>(query: Sql) => {
      const { rows } = await run(query);
      assert(rows.length === 1, `expected one row, got ${rows.length}: ${query.text}`);
      return rows[0] as T;
    },
    maybe: async <T>(query: Sql) => {
      const { rows } = await run(query);
      assert(rows.length <= 1, `expected at most one row, got ${rows.length}: ${query.text}`);
      return (rows[0] ?? null) as T | null;
    },
    run: async (query) => (await run(query)).rowCount,
  };
}

/** Sends the statements of one transaction in order, one batch at a time. */
export interface StatementQueue {
  ask(statement: Statement): Promise<Answer>;
  /** Sends the statement in a batch of its own, so that the failure of another statement cannot stop it. */
  askAlone(statement: Statement): Promise<Answer>;
  /** Sends the final statement together with `ending`, which ends the transaction. Nothing may follow. */
  askLast(statement: Statement, ending: Statement): Promise<Answer>;
  closed(): boolean;
  /** The ending that was sent with `askLast`. Null before that. */
  ended(): Ending | null;
  /** Sends the statement together with the next one. */
  later(statement: Statement): void;
  /** Discards `later` statements that were not sent yet. */
  drop(): void;
  /** Ends the transaction unless `askLast` did. `trailing`: answers to `later` statements sent along. Null if there was nothing to end. */
  end(statement: Statement): Ending | null;
  /** Resolves when all statements have been answered. Never rejects. */
  allAnswered(): Promise<void>;
  /** Whether a statement was sent; the first one begins the transaction. */
  hasBegun(): boolean;
}

interface Ending {
  trailing: Promise<Answer>[];
  answer: Promise<Answer>;
}

interface Waiting {
  /** `later` statements come first. */
  statements: Statement[];
  alone: boolean;
  /** Ends the transaction after `statements`. */
  ending: Statement | null;
  resolve(answer: Promise<Answer>): void;
}

export function createStatementQueue(
  client: ClientBase,
  begin: readonly Statement[],
  limitMs?: number,
): StatementQueue {
  let hasBegun = false;
  const trailing: Statement[] = [];
  const waiting: Waiting[] = [];
  let sending: Promise<void> | null = null;
  let closed = false;
  let ended: Ending | null = null;

  const send = (statements: readonly Statement[]): Promise<Answer>[] => {
    if (hasBegun) return runStatements(client, statements, limitMs);
    hasBegun = true;
    return runStatements(client, [...begin, ...statements], limitMs).slice(begin.length);
  };
  const takeTrailing = (): Statement[] => trailing.splice(0);
  const nextBatch = (): Waiting[] => {
    const stop = waiting.findIndex(({ alone }, at) => at > 0 && (alone || waiting[0]?.alone === true));
    return waiting.splice(0, stop === -1 ? waiting.length : stop);
  };
  const sendAll = async (): Promise<void> => {
    // Wait one microtask, so that statements issued together share a batch.
    await null;
    while (waiting.length > 0) {
      const batch = nextBatch();
      const ending = batch.at(-1)?.ending ?? null;
      const statements = batch.flatMap((one) => one.statements);
      const answers = send(ending === null ? statements : [...statements, ending]);
      resolveWaiting(batch, answers);
      if (ending !== null) ended = { trailing: [], answer: lastOf(answers) };
      await Promise.allSettled(answers);
    }
    sending = null;
  };
  const enqueue = (statement: Statement, alone: boolean, ending: Statement | null = null): Promise<Answer> => {
    const answer = new Promise<Answer>((resolve) => {
      waiting.push({ statements: [...takeTrailing(), statement], alone, ending, resolve });
    });
    sending ??= sendAll();
    return answer;
  };

  return {
    ask: (statement) => enqueue(statement, false).catch(rethrowUncommitted),
    askAlone: (statement) => enqueue(statement, true).catch(rethrowUncommitted),
    askLast: (statement, ending) => {
      closed = true;
      return enqueue(statement, false, ending);
    },
    closed: () => closed,
    ended: () => ended,
    later: (statement) => void trailing.push(statement),
    drop: () => void takeTrailing(),
    end: (statement) => {
      if (ended !== null) return ended;
      if (!hasBegun && trailing.length === 0) return null;
      const answers = send([...takeTrailing(), statement]);
      return { trailing: answers.slice(0, -1), answer: lastOf(answers) };
    },
    allAnswered: async () => {
      await sending;
    },
    hasBegun: () => hasBegun,
  };
}

/** Rethrows the error of a statement that was sent without the commit, so its outcome is known. */
function rethrowUncommitted(error: unknown): never {
  throw withAvailability(error, false);
}

/** Resolves each caller with the answer of its last statement. */
function resolveWaiting(batch: readonly Waiting[], answers: readonly Promise<Answer>[]): void {
  let at = -1;
  for (const { statements, resolve } of batch) {
    at += statements.length;
    const answer = answers[at];
    if (answer !== undefined) resolve(answer);
  }
}

function lastOf(answers: readonly Promise<Answer>[]): Promise<Answer> {
  return answers.at(-1) ?? Promise.reject(new TypeError('a batch without answers'));
}
