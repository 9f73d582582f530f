import { Client, type ClientBase, type ClientConfig, types } from 'pg';
import { ConfigError } from '../config.ts';
import { DatabaseUnavailable, isUnavailable, withAvailability } from './database-error.ts';
import { readTimeline } from './timeline.ts';

/** Limit after which the server ends a forgotten transaction, so that it does not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 30_000;
const READ_ONLY_SQL_TRANSACTION = '25006';
/** Grace period after the server's own limit. Then the connection counts as dead. */
export const ANSWER_GRACE_MS = 5_000;

export interface ConnectionOptions {
  /** May list several hosts. The first one that is a primary is used. */
  url: string;
  applicationName?: string;
  /** Longest time of one statement, enforced by the server. 0: no limit. */
  statementTimeoutMs: number;
  connectTimeoutMs?: number;
  /** Throws for a primary on an outdated timeline. Omitted: servers are not asked for their timeline. */
  acceptTimeline?: ((timeline: number) => void) | null;
}

export function clientConfig(options: ConnectionOptions): ClientConfig {
  const { statementTimeoutMs } = options;
  return {
    connectionString: options.url,
    application_name: options.applicationName ?? 'openaisle',
    query_timeout: statementTimeoutMs === 0 ? undefined : statementTimeoutMs + ANSWER_GRACE_MS,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: columnTypes,
  };
}

/** Without keepalives a server keeps the locks of a lost client, by default for hours. Keepalives do nothing on Unix sockets. */
const KEEPALIVES = [
  ['tcp_keepalives_idle', 10],
  ['tcp_keepalives_interval', 5],
  ['tcp_keepalives_count', 3],
  ['tcp_user_timeout', 30_000],
] as const;

/** Settings are sent as a statement, because poolers reject or drop settings in the startup message. */
function sessionSettings(statementTimeoutMs: number): string {
  const settings: readonly (readonly [string, string | number])[] = [
    // Dates in SQL must mean the same on every server.
    ['timezone', "'UTC'"],
    // Needed for the warning that a commit stopped waiting for its standby. Nothing else shows that.
    ['client_min_messages', 'warning'],
    ['statement_timeout', statementTimeoutMs],
    ['idle_in_transaction_session_timeout', IDLE_IN_TRANSACTION_MS],
    ...KEEPALIVES,
  ];
  return settings.map(([name, value]) => `set ${name} = ${value}`).join('; ');
}

const STANDBY = 'the server is a standby and takes no writes: name the primary, or several hosts separated by commas';

/** Prepares a new connection. Rejects a standby: it lags, has its own locks and accepts no writes. */
export async function prepareConnection(
  client: ClientBase,
  { statementTimeoutMs, acceptTimeline }: Pick<ConnectionOptions, 'statementTimeoutMs' | 'acceptTimeline'>,
): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
  if (rows[0]?.standby !== false)
    throw new DatabaseUnavailable(Object.assign(new Error(STANDBY), { code: READ_ONLY_SQL_TRANSACTION }), false);
  if (acceptTimeline) {
    const timeline = await readTimeline(async (query) => (await client.query<{ timeline: string }>(query)).rows);
    if (timeline !== null) acceptTimeline(timeline);
  }
  await client.query(sessionSettings(statementTimeoutMs));
}

/**
 * Opens one connection outside the pool, to the first working host. Calls `onLost` once when that connection is lost, but not for hosts
 * that failed before. Installs the error listener without which the driver would end the process.
 */
export async function connectClient(options: ConnectionOptions, onLost: () => void = () => {}): Promise<Client> {
  const [first = '', ...others] = hostsOf(options.url);
  let connecting = connectTo({ ...options, url: first }, onLost);
  for (const url of others)
    connecting = connecting.catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      return connectTo({ ...options, url }, onLost);
    });
  return connecting;
}

async function connectTo(options: ConnectionOptions, onLost: () => void): Promise<Client> {
  const client = new Client(clientConfig(options));
  let isLost = false;
  let report = (): void => {};
  const lose = (): void => {
    if (isLost) return;
    isLost = true;
    report();
  };
  client.on('error', lose);
  client.on('end', lose);
  try {
    await client.connect();
    await prepareConnection(client, options);
    if (isLost) throw new DatabaseUnavailable(new Error('Connection terminated unexpectedly'), false);
    report = onLost;
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw withAvailability(error, false);
  }
}

/** Splits a URL like `postgresql://user@one:5432,two:5432/name` into one URL per host, because the driver understands only one. */
export function hostsOf(url: string): string[] {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/.exec(url) ?? [];
  const userEnds = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(userEnds).split(',');
  return hosts.length === 1 ? [url] : hosts.map((host) => scheme + authority.slice(0, userEnds) + host + rest);
}

const INT8 = 20;
const INT8_ARRAY = 1016;
const DATE = 1082;
const TIMESTAMP = 1114;
const NUMERIC_ARRAY = 1231;
const TEXT_ARRAY = 1009;

type Parser = (text: string) => unknown;

function driverParser(oid: number, format?: 'text' | 'binary'): Parser {
  return types.getTypeParser(oid, format);
}

const parseTextArray = driverParser(TEXT_ARRAY) as (text: string) => (string | null)[];
const keepText: Parser = (text) => text;

/**
 * Parsers for types that the driver would read with loss: int8 becomes a bigint; numeric stays text, and so does a date without a time
 * zone, which `Date` would read in the zone of this machine.
 */
const PARSERS = new Map<number, Parser>([
  [INT8, BigInt],
  [INT8_ARRAY, (text) => parseTextArray(text).map((item) => (item === null ? null : BigInt(item)))],
  [NUMERIC_ARRAY, parseTextArray],
  [DATE, keepText],
  [TIMESTAMP, keepText],
]);

export const columnTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary'): Parser =>
    (format !== 'binary' && PARSERS.get(oid)) || driverParser(oid, format),
};

/** Larger pools are slower on few cores. */
export const MAX_POOL_SIZE = 16;
/** With fewer connections, requests wait for the site's own background reads. */
export const MIN_POOL_SIZE = 2;
export const LOCK_CONNECTIONS = 1;
/** Shares of the budget reserved for a process that replaces another, because the server is slow to notice that the old process is gone. */
const SUCCESSORS = 1;

export interface Budget {
  /** Name of the environment variable, for error messages. */
  variable: string;
  /** Maximum number of connections of all processes on this host together. */
  connections: number;
  processes: number;
  /** End of the error message, as in "at least 12 with OPENAISLE_WORKERS 3". */
  forWhat: string;
}

/**
 * Returns the pool size of each process, so that this host stays within its budget. The budgets of all hosts together must fit into `room`,
 * the number of connections that the server accepts.
 */
export function shareBudget({ variable, connections, processes, forWhat }: Budget, room: number): number {
  if (connections > room) {
    throw new ConfigError([
      `${variable} must be at most ${room}, summed over all hosts: PostgreSQL takes no more connections (max_connections minus reserved ones)`,
    ]);
  }
  const shares = processes + SUCCESSORS;
  const each = Math.floor(connections / shares) - LOCK_CONNECTIONS;
  if (each >= MIN_POOL_SIZE) return Math.min(each, MAX_POOL_SIZE);
  throw new ConfigError([
    `${variable} must be at least ${shares * (MIN_POOL_SIZE + LOCK_CONNECTIONS)} ${forWhat}: ${MIN_POOL_SIZE + LOCK_CONNECTIONS} per process, and as many for a process that replaces another`,
  ]);
}

/** Returns how many connections the server allows ordinary roles, for all programs on all hosts together. */
export async function readConnectionRoom(url: string): Promise<number> {
  const client = await connectClient({ url, applicationName: 'openaisle-room', statementTimeoutMs: 5_000 });
  try {
    const { rows } = await client.query<{ room: number }>(`
      select (current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4
        - coalesce(current_setting('reserved_connections', true), '0')::int4) as room`);
    return rows[0]?.room ?? 0;
  } finally {
    await client.end();
  }
}
