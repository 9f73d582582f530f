import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { type ClientBase, Pool, type PoolClient } from 'pg';
import sql from 'sql-template-tag';
import type { Log } from '../log.ts';
import { type AdvisoryLocks, createAdvisoryLocks } from './advisory-locks.ts';
import { chooseServer, type ServerChoice } from './choose-server.ts';
import { clientConfig, connectClient, prepareConnection } from './connection.ts';
import type { Database, Queryable } from './database.ts';
import { DatabaseUnavailable, isReadOnly, isUnavailable, isWaitCanceled, withAvailability } from './database-error.ts';
import { refuseTransactionPooler } from './refuse-pooler.ts';
import { createQueryable, isReusable, runQuery } from './run-statements.ts';
import { runTransaction, type TransactionScope } from './transaction.ts';
import { type HostWatch, watchHosts } from './watch-hosts.ts';

export interface OpenDatabaseOptions {
  /** May list several hosts (`one:5432,two:5432`). The primary is used. */
  url: string;
  /** Most connections in the pool; one more holds locks. Default 16: more are slower on few cores. */
  poolSize?: number;
  /** Default 5,000. 0: no limit. */
  statementTimeoutMs?: number;
  /** Longest wait for a connection, new or from the pool. Default 5,000. */
  connectTimeoutMs?: number;
  applicationName?: string;
  /** Receives events that operators could not learn from the errors of callers. */
  log?: Log;
  /** Only for throw-away databases: accepts a server that may lose acknowledged writes, and skips the check for a pooler. */
  allowUnsafe?: boolean;
}

const OLDEST_SERVER = 150_000;

/** Opens the pool. Rejects a server that could lose acknowledged writes. */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  const identity = createServerCheck();
  const servers = chooseServer(options.url, () => locks.drop());
  const statementTimeoutMs = options.statementTimeoutMs ?? 5_000;
  const connection = { ...options, statementTimeoutMs, acceptTimeline: servers.acceptTimeline };
  const watch = watchHosts(servers, connection, options.log ?? null);
  const pool = new Pool({
    ...clientConfig(connection),
    Client: servers.Client,
    max: options.poolSize ?? 16,
    idleTimeoutMillis: 30_000,
    onConnect: async (client) => {
      await prepareConnection(client, connection);
      await identity.check(client);
    },
  });
  // The pool drops a broken idle connection. The next caller gets a new one, or the error.
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    servers.noteConnection(client);
    client.on('notice', (notice) => {
      if (isWaitCanceled(notice)) options.log?.error('commit_not_replicated', { detail: notice.message });
    });
  });
  const locks = createAdvisoryLocks((onLost) => connectClient(connection, onLost));
  const database = createDatabase(pool, { servers, identity, watch }, locks);
  try {
    await watch.start();
    if (options.allowUnsafe !== true) await refuseTransactionPooler(connection);
    await checkServer(database, options.allowUnsafe ?? false);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

function createDatabase(
  pool: Pool,
  { servers, identity, watch }: { servers: ServerChoice; identity: ServerCheck; watch: HostWatch },
  locks: AdvisoryLocks,
): Database {
  const scopes = new AsyncLocalStorage<TransactionScope>();
  const running = new Set<Promise<unknown>>();
  let closed: Promise<void> | null = null;

  /** Tracks connections in use. `close` must wait for them, because callers waiting for a connection get none once the pool has ended. */
  const onConnection = <T>(outcomeUnknown: boolean, act: (client: PoolClient) => Promise<T>): Promise<T> => {
    assert(closed === null, 'this database is closed');
    const lent = lendConnection(pool, servers, outcomeUnknown, act).catch((error: unknown) => {
      // The primary has changed or is about to, so drop all connections. Callers and lock holders connect again.
      if (isReadOnly(error) && servers.outdateAll()) locks.drop();
      throw error;
    });
    const ended = lent.catch(() => {}).finally(() => running.delete(ended));
    running.add(ended);
    return lent;
  };
  const assertOutside = (what: string): void => {
    assert(scopes.getStore()?.open !== true, `${what} inside an open transaction would run outside of it: use the tx`);
  };
  const close = async (): Promise<void> => {
    await Promise.all(running);
    await watch.stop();
    await pool.end();
    await locks.close();
  };

  return {
    ...createQueryable(async (query) => {
      assertOutside('a query on the database');
      return onConnection(true, (client) => runQuery(client, query));
    }),
    transaction: async (act, options = {}) => {
      assertOutside('a second transaction');
      const { value, afterCommit } = await onConnection(false, (client) =>
        runTransaction(client, act, options, (scope, run) => scopes.run(scope, run)),
      );
      for (const after of afterCommit) runAfterCommit(after);
      return value;
    },
    withAdvisoryLock: async (key, act) => {
      assertOutside('an exclusive act');
      assert(closed === null, 'this database is closed');
      return locks.withAdvisoryLock(key, act);
    },
    onOtherServer: identity.listen,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** Lends a connection. Closes it afterwards instead of returning it if it is outdated or may be broken. */
async function lendConnection<T>(
  pool: Pool,
  servers: ServerChoice,
  outcomeUnknown: boolean,
  act: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await takeConnection(pool, servers);
  // The pool does not listen for errors of connections in use, and an unhandled one would end the process.
  const ignore = (): void => {};
  client.on('error', ignore);
  try {
    return await act(client);
  } catch (error) {
    throw withAvailability(error, outcomeUnknown);
  } finally {
    client.removeListener('error', ignore);
    client.release(!isReusable(client) || !servers.isCurrent(client));
  }
}

/** Takes a connection to the primary. After a failure, tries the next host. Throws once each host has failed. */
async function takeConnection(pool: Pool, servers: ServerChoice): Promise<PoolClient> {
  for (let tried = 1; ; ) {
    const host = servers.host();
    try {
      const client = await pool.connect();
      if (servers.isCurrent(client)) return client;
      client.release(true);
    } catch (error) {
      if (tried === servers.hosts.length || !isUnavailable(error)) throw withAvailability(error, false);
      tried += 1;
      servers.skipHost(host);
    }
  }
}

/** Throws errors of `act` outside of the caller: its work is committed and must not appear to have failed. */
function runAfterCommit(act: () => void): void {
  try {
    act();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

interface ServerFacts {
  version: number;
  fsync: string;
  synchronous_commit: string;
  encoding: string;
}

async function checkServer(database: Queryable, allowUnsafe: boolean): Promise<void> {
  const facts = await database.one<ServerFacts>(sql`
    select current_setting('server_version_num')::int4 as version, current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as synchronous_commit, current_setting('server_encoding') as encoding`);
  if (facts.version < OLDEST_SERVER)
    throw new Error(`PostgreSQL 15 or newer is needed; this server is ${facts.version} (server_version_num)`);
  if (facts.encoding !== 'UTF8')
    throw new Error(`the database must be created with encoding UTF8; its server_encoding is ${facts.encoding}`);
  if (allowUnsafe) return;
  for (const setting of ['fsync', 'synchronous_commit'] as const) {
    if (facts[setting] === 'off')
      throw new Error(
        `the PostgreSQL setting ${setting} is off: a crash could lose acknowledged payments; set it to on`,
      );
  }
}

/** Identifies a running server by its start time, and the database by its oid. After a change, data read earlier may be gone. */
const IDENTITY = `select pg_postmaster_start_time()::text || ' ' || oid as identity from pg_database where datname = current_database()`;

interface ServerCheck {
  /** Call it for each new connection, before first use. */
  check(client: ClientBase): Promise<void>;
  listen(act: (queryable: Queryable) => Promise<void>): void;
}

/** Detects connections to a different server or a restarted one. */
function createServerCheck(): ServerCheck {
  let lastIdentity: string | null = null;
  let listener: ((queryable: Queryable) => Promise<void>) | null = null;
  const runListener = async (client: ClientBase): Promise<void> => {
    try {
      await listener?.(createQueryable((query) => runQuery(client, query)));
    } catch (error) {
      // Report a failed check as an unavailable server, so that no caller uses it.
      throw new DatabaseUnavailable(error, false);
    }
  };
  return {
    check: async (client) => {
      const { rows } = await client.query<{ identity: string }>(IDENTITY);
      const identity = rows[0]?.identity ?? '';
      // Store the identity only after the check: until then every new connection is checked.
      if (lastIdentity !== null && identity !== lastIdentity) await runListener(client);
      lastIdentity = identity;
    },
    listen: (act) => {
      listener = act;
    },
  };
}
