import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type ClientBase, DatabaseError } from 'pg';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from './database.ts';
import { isReadOnly, isRefused, isUnavailable, withAvailability } from './database-error.ts';
import { type Answer, runBatch, type Statement } from './statement-batch.ts';

const MAX_NAMES = 1_000;
/** Hashes of texts, so that a text is hashed once. */
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

/** A query as a prepared statement named after its text, so that each connection prepares the text once. */
export function statementOf({ text, values }: Sql): Statement {
  // The driver would write NULL: a forgotten field must not become one.
  assert(!values.includes(undefined), `undefined value in query: ${text}`);
  return { name: statementName(text), text, values };
}

/** One command of the transaction itself, such as begin or commit. */
export function commandOf(text: string): Statement {
  return { name: statementName(text), text, values: [] };
}

export async function runQuery(client: ClientBase, query: Sql): Promise<Answer> {
  const [answer] = runStatements(client, [statementOf(query)]);
  assert(answer !== undefined);
  return await answer.catch(rethrowTraced);
}

/** Rethrows with the stack of the caller, which is gone by the time the server's answer comes in. */
export function rethrowTraced(error: unknown): never {
  if (error instanceof DatabaseError) Error.captureStackTrace(error);
  throw error;
}

/** Runs them as one batch; see `runBatch`. */
function runStatements(client: ClientBase, statements: readonly Statement[], limitMs?: number): Promise<Answer>[] {
  return runBatch(client, statements, limitMs).map((answer) => {
    const watched = watchConnection(client, answer);
    watched.catch(() => {});
    return watched;
  });
}

/** Ends what has failed. By the plain way, which needs nothing of what was prepared. */
export async function runRollback(client: ClientBase): Promise<void> {
  await watchConnection(client, client.query('rollback'));
}

async function watchConnection<T>(client: ClientBase, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!leavesConnectionWhole(error)) spoiled.add(client);
    throw error;
  }
}

/**
 * Most SQL errors leave the connection whole, also of a server whose disk is full; a server that takes no writes is left. A prepared
 * statement that no longer fits the tables, is gone, or was prepared by somebody else would fail for ever on it. After anything that is
 * not the server's answer it is unknown what is still on the wire.
 */
function leavesConnectionWhole(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || isReadOnly(error)) return false;
  return (isRefused(error) || !isUnavailable(error)) && !['0A000', '26000', '42P05'].includes(error.code ?? '');
}

/** Whether it is unknown what is still on the wire. */
export function isSpoiled(client: ClientBase): boolean {
  return spoiled.has(client);
}

/** Whether the connection is between transactions and fit for the query of another caller. */
export function isReusable(client: ClientBase): boolean {
  return !spoiled.has(client) && client.getTransactionStatus() === 'I';
}

/** The four forms of asking, over one way to run. */
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

/** The statements of one transaction on their way to the server: in the order in which they were handed in, one batch at a time. */
export interface StatementQueue {
  ask(statement: Statement): Promise<Answer>;
  /** Never in one batch with a statement that a caller waits for: the failure of that one must not hinder this one. */
  askAlone(statement: Statement): Promise<Answer>;
  /** The last one that is asked, and what ends the transaction along with it. Nothing may be handed in after that. */
  askLast(statement: Statement, ending: Statement): Promise<Answer>;
  /** Whether the last one was handed in. */
  closed(): boolean;
  /** What went along with it; null while it has not gone. */
  ended(): Ending | null;
  /** Goes along with what is asked next. */
  later(statement: Statement): void;
  /** Forgets what has not gone along yet. */
  drop(): void;
  /**
   * Ends the transaction after all others are answered, unless that went along with the last of them. `trailing` are those of `later` that
   * went along. Null: there is nothing to end.
   */
  end(statement: Statement): Ending | null;
  /** Resolves when everything that was asked is answered; never rejects. */
  allAnswered(): Promise<void>;
  /** Whether anything was sent. The transaction begins with its first statement. */
  hasBegun(): boolean;
}

interface Ending {
  trailing: Promise<Answer>[];
  answer: Promise<Answer>;
}

interface Waiting {
  /** Those of `later` first. */
  statements: Statement[];
  alone: boolean;
  /** What ends the transaction behind them. */
  ending: Statement | null;
  resolve(answer: Promise<Answer>): void;
}

export function createStatementQueue(
  client: ClientBase,
  begin: readonly Statement[],
  limitMs?: number,
): StatementQueue {
  let hasBegun = false;
  let trailing: Statement[] = [];
  const waiting: Waiting[] = [];
  let sending: Promise<void> | null = null;
  let closed = false;
  let ended: Ending | null = null;

  const send = (statements: readonly Statement[]): Promise<Answer>[] => {
    if (hasBegun) return runStatements(client, statements, limitMs);
    hasBegun = true;
    return runStatements(client, [...begin, ...statements], limitMs).slice(begin.length);
  };
  const takeTrailing = (): Statement[] => {
    const taken = trailing;
    trailing = [];
    return taken;
  };
  const nextBatch = (): Waiting[] => {
    const stop = waiting.findIndex(({ alone }, at) => at > 0 && (alone || waiting[0]?.alone === true));
    return waiting.splice(0, stop === -1 ? waiting.length : stop);
  };
  const sendAll = async (): Promise<void> => {
    // So that whatever is handed in without waiting is in the same batch.
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

/** Of what went without the commit. */
function rethrowUncommitted(error: unknown): never {
  throw withAvailability(error, false);
}

/** To each the answer of its last statement. */
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
