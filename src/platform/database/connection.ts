import { Client, type ClientBase, type ClientConfig } from 'pg';
import { columnTypes } from './column-types.ts';
import { DatabaseUnavailable, isUnavailable, withAvailability } from './database-error.ts';
import { hostsOf } from './hosts-of.ts';

/** A transaction that forgets to end must not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 30_000;
const READ_ONLY_SQL_TRANSACTION = '25006';
/** How long past the server's own limit an answer is awaited before the connection is taken for dead. */
export const ANSWER_GRACE_MS = 5_000;

export interface ConnectionOptions {
  /** With several hosts, the first that is a primary. */
  url: string;
  applicationName?: string;
  /** The server ends a longer statement; 0 for no limit. */
  statementTimeoutMs: number;
  connectTimeoutMs?: number;
}

export function clientConfig(options: ConnectionOptions): ClientConfig {
  const { statementTimeoutMs } = options;
  return {
    connectionString: options.url,
    application_name: options.applicationName ?? 'openaisle',
    statement_timeout: statementTimeoutMs === 0 ? false : statementTimeoutMs,
    query_timeout: statementTimeoutMs === 0 ? undefined : statementTimeoutMs + ANSWER_GRACE_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: columnTypes,
  };
}

/**
 * A server holds the session of a client whose machine or network is gone, with its locks, until it notices: by default after hours.
 * Without effect on a Unix socket, where a client cannot be lost that way.
 */
const KEEPALIVES = [
  ['tcp_keepalives_idle', 10],
  ['tcp_keepalives_interval', 5],
  ['tcp_keepalives_count', 3],
  ['tcp_user_timeout', 30_000],
] as const;

const STANDBY =
  'the server is a standby, which takes no writes: name the primary, or several hosts with commas between them, of which the primary is taken';

/**
 * Prepares every new connection. UTC, so that dates in SQL mean the same wherever the server stands. A standby is refused: it lags, hands
 * out locks of its own and takes no writes.
 */
export async function prepareConnection(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
  if (rows[0]?.standby === true)
    throw new DatabaseUnavailable(Object.assign(new Error(STANDBY), { code: READ_ONLY_SQL_TRANSACTION }), false);
  await client.query("set time zone 'UTC'");
  for (const [name, value] of KEEPALIVES) await client.query(`set ${name} = ${value}`);
}

/** One connection outside the pool. Its loss is reported to `onLost`, once; without a listener the driver would end the process. */
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
  client.on('error', onLost);
  client.on('end', onLost);
  try {
    await client.connect();
    await prepareConnection(client);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw withAvailability(error, false);
  }
}
