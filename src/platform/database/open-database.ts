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
  /** With several hosts (`one:5432,two:5432`) the one that is no standby. */
  url: string;
  /** Connections kept at most, in addition to the one that holds locks. Default 16: more is slower on few cores. */
  poolSize?: number;
  /** Default 5,000; 0 for no limit. */
  statementTimeoutMs?: number;
  /** How long to wait for a connection, new or out of the pool. Default 5,000. */
  connectTimeoutMs?: number;
  applicationName?: string;
  /** Hears of what a caller's error alone would not tell an operator. */
  log?: Log;
  /** For a throw-away database only: accept a server that may lose acknowledged writes, and do not look for a pooler. */
  allowUnsafe?: boolean;
}

const OLDEST_SERVER = 150_000;

/** Opens the pool and refuses a server that could lose what it has acknowledged. */
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
  // The pool drops an idle connection that breaks; the next caller gets a new one, or the error.
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    servers.arrived(client);
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

  /** A pool that ends would strand callers that still wait for a connection, so its end waits for all of these. */
  const onConnection = <T>(outcomeUnknown: boolean, act: (client: PoolClient) => Promise<T>): Promise<T> => {
    assert(closed === null, 'this database is closed');
    const lent = lendConnection(pool, servers, outcomeUnknown, act).catch((error: unknown) => {
      // The primary has changed, or is about to: the next caller looks for it, and so does each holder of a lock.
      if (isReadOnly(error) && servers.leaveAll()) locks.drop();
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

/** Lends a connection; one that may be broken, or that was left, is not given back but closed. */
async function lendConnection<T>(
  pool: Pool,
  servers: ServerChoice,
  outcomeUnknown: boolean,
  act: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await takeConnection(pool, servers);
  // While lent, the pool does not listen: without this a lost connection would end the process.
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

/** To the primary, whichever of the hosts that is by now. */
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
      servers.passOver(host);
    }
  }
}

/** The work is committed: an act that throws is a bug of its own and must not make the transaction look failed. */
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

/** Which server, since when, and which database of it: another answer means that what was read before may not be there. */
const IDENTITY = `select pg_postmaster_start_time()::text || ' ' || oid as identity from pg_database where datname = current_database()`;

interface ServerCheck {
  /** For each new connection, before its first use. */
  check(client: ClientBase): Promise<void>;
  listen(act: (queryable: Queryable) => Promise<void>): void;
}

/** Reports when connections begin to lead to another server, or to a restarted one. */
function createServerCheck(): ServerCheck {
  let lastIdentity: string | null = null;
  let listener: ((queryable: Queryable) => Promise<void>) | null = null;
  const runListener = async (client: ClientBase): Promise<void> => {
    try {
      await listener?.(createQueryable((query) => runQuery(client, query)));
    } catch (error) {
      // A server that could not be looked at serves no caller, as if it were away.
      throw new DatabaseUnavailable(error, false);
    }
  };
  return {
    check: async (client) => {
      const { rows } = await client.query<{ identity: string }>(IDENTITY);
      const identity = rows[0]?.identity ?? '';
      // Known only once it was looked at: until then every new connection looks.
      if (lastIdentity !== null && identity !== lastIdentity) await runListener(client);
      lastIdentity = identity;
    },
    listen: (act) => {
      listener = act;
    },
  };
}
