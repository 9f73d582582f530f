import { Client, type ClientBase, type ClientConfig } from 'pg';
import { columnTypes } from './column-types.ts';
import { withAvailability } from './database-error.ts';

/** A transaction that forgets to end must not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 30_000;
/** How long past the server's own limit an answer is awaited before the connection is taken for dead. */
export const ANSWER_GRACE_MS = 5_000;

export interface ConnectionOptions {
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

/** What every connection starts with: dates in SQL mean the same wherever the server stands. */
export async function prepareConnection(client: ClientBase): Promise<void> {
  await client.query("set time zone 'UTC'");
  for (const [name, value] of KEEPALIVES) await client.query(`set ${name} = ${value}`);
}

/** One connection outside the pool. Its loss is reported to `onLost`, once; without a listener the driver would end the process. */
export async function connectClient(options: ConnectionOptions, onLost: () => void = () => {}): Promise<Client> {
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
