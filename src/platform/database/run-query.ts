import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type ClientBase, DatabaseError } from 'pg';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from './database.ts';
import { isReadOnly, isRefused, isUnavailable } from './database-error.ts';
import { type Answer, runBatch, type Statement } from './statement-batch.ts';

/**
 * Each name costs memory on every connection, so a text beyond this many goes unnamed. Hand lists in as one array
 * (`= any(${list})`): a text for each length would use the names up.
 */
const MOST_NAMES = 500;
const names = new Map<string, string>();

function statementName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= MOST_NAMES) return undefined;
  const name = `q_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
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
  return await answer.catch(traced);
}

/** Rethrows with the stack of the caller, which is gone by the time the server's answer comes in. */
export function traced(error: unknown): never {
  if (error instanceof DatabaseError) Error.captureStackTrace(error);
  throw error;
}

/** Runs them as one batch; see `runBatch`. */
export function runStatements(
  client: ClientBase,
  statements: readonly Statement[],
  limitMs?: number,
): Promise<Answer>[] {
  return runBatch(client, statements, limitMs).map((answer) => {
    const guarded = guard(client, answer);
    guarded.catch(() => {});
    return guarded;
  });
}

/** Ends what has failed. By the plain way, which needs nothing of what was prepared. */
export async function runRollback(client: ClientBase): Promise<void> {
  await guard(client, client.query('rollback'));
}

async function guard<T>(client: ClientBase, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!leavesConnectionWhole(error)) spoiled.add(client);
    throw error;
  }
}

/**
 * Most SQL errors leave the connection whole, also of a server whose disk is full; a server that takes no writes is left. A prepared
 * statement that no longer fits the tables, or is gone, would fail for ever on it. After anything that is not the server's answer it is
 * unknown what is still on the wire.
 */
function leavesConnectionWhole(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || isReadOnly(error)) return false;
  return (isRefused(error) || !isUnavailable(error)) && error.code !== '0A000' && error.code !== '26000';
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
