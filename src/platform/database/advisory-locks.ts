import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { withAvailability } from './database-error.ts';

export interface AdvisoryLocks {
  withAdvisoryLock<T>(key: string, act: (lost: AbortSignal) => Promise<T>): Promise<{ value: T } | null>;
  /** Gives up all keys. The next request opens a new session. */
  drop(): void;
  close(): Promise<void>;
}

interface Session {
  client: Client;
  lost: AbortController;
}

/** Holds all keys in one session outside the pool. PostgreSQL would grant that session the same key twice; `heldKeys` prevents this. */
export function createAdvisoryLocks(connect: (onLost: () => void) => Promise<Client>): AdvisoryLocks {
  const heldKeys = new Set<string>();
  let current: Promise<Session> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  const openSession = (): Promise<Session> => {
    const lost = new AbortController();
    const opening = connect(() => {
      if (current === opening) current = null;
      lost.abort(new Error('the session that held the lock is lost'));
    }).then((client) => ({ client, lost }));
    opening.catch(() => {
      if (current === opening) current = null;
    });
    current = opening;
    return opening;
  };

  const sendLockQuery = (
    session: Session,
    verb: 'pg_try_advisory_lock' | 'pg_advisory_unlock',
    key: string,
  ): Promise<boolean> => {
    const query = { name: verb, text: `select ${verb}($1::int8) as done`, values: [lockKey('session', key)] };
    const answer = last.then(async () => (await session.client.query<{ done: boolean }>(query)).rows[0]?.done === true);
    // Without an answer we cannot know whether the session holds the key, so end the session. This also releases all other keys.
    last = answer.catch(() => session.client.end().catch(() => {}));
    return answer;
  };

  const releaseKey = async (session: Session, key: string): Promise<void> => {
    // If nobody ends a lost session, it stays open on the server and keeps its locks.
    if (session.lost.signal.aborted) await session.client.end().catch(() => {});
    else await sendLockQuery(session, 'pg_advisory_unlock', key).catch(() => {});
  };

  return {
    withAdvisoryLock: async (key, act) => {
      if (heldKeys.has(key)) return null;
      heldKeys.add(key);
      try {
        const session = await (current ?? openSession());
        const free = await sendLockQuery(session, 'pg_try_advisory_lock', key).catch((error: unknown) => {
          throw withAvailability(error, false);
        });
        if (!free) return null;
        try {
          return { value: await act(session.lost.signal) };
        } finally {
          await releaseKey(session, key);
        }
      } finally {
        heldKeys.delete(key);
      }
    },
    drop: () => {
      const dropped = current;
      current = null;
      dropped?.then(leaveSession).catch(() => {});
    },
    close: async () => {
      const session = await current?.catch(() => null);
      await session?.client.end();
    },
  };
}

async function leaveSession({ client, lost }: Session): Promise<void> {
  lost.abort(new Error('the server of the session that held the lock was left'));
  await client.end();
}

/** Returns the advisory lock number of a key. `kind` keeps session, transaction and migration locks apart. */
export function lockKey(kind: 'session' | 'transaction' | 'migration', key: string): bigint {
  return createHash('sha256').update(`${kind}:${key}`).digest().readBigInt64BE(0);
}
