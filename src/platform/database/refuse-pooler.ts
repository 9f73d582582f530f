import type { Client } from 'pg';
import { type ConnectionOptions, connectClient } from './connection.ts';

const POOLER =
  'the pooler shares PostgreSQL sessions between transactions, so locks and prepared statements get lost: ' +
  'set pool_mode = session, or connect to PostgreSQL directly';

/** Unique among all sessions of a server, including past ones. */
const SESSION =
  "select pid || ' since ' || backend_start as session from pg_stat_get_activity(pg_backend_pid()) where pid is not null";

/**
 * Throws if connections do not each keep a server session of their own, as behind a transaction pooler. Opens two connections. The first
 * reads its session id twice, and once more while the second is inside a transaction. With such a pooler, the second now has a session that
 * the first has used, or the first gets a different one.
 */
export async function refuseTransactionPooler(connection: ConnectionOptions): Promise<void> {
  const first = await connectClient(connection);
  try {
    const second = await connectClient(connection);
    try {
      if (!(await haveSeparateSessions(first, second))) throw new Error(POOLER);
    } finally {
      await second.end();
    }
  } finally {
    await first.end();
  }
}

async function haveSeparateSessions(first: Client, second: Client): Promise<boolean> {
  const own = await sessionOf(first);
  if ((await sessionOf(first)) !== own) return false;
  await second.query('begin');
  // Stop here if both share a session, because the first connection's next query would wait for the second's transaction.
  if ((await sessionOf(second)) === own) return false;
  const isStillOwn = (await sessionOf(first)) === own;
  await second.query('commit');
  return isStillOwn;
}

async function sessionOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ session: string }>(SESSION);
  return rows[0]?.session ?? '';
}
