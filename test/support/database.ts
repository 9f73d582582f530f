import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { raw } from 'sql-template-tag';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { connectClient } from '../../src/platform/database/connection.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { CANARY_PREFIXES, holdsSecret, takeLeaks } from './canary.ts';
import { onServer } from './run-postgres.ts';

interface Column {
  table: string;
  column: string;
  type: string;
}

const COLUMNS = `
  select c.oid::regclass::text as table, format('t.%I', a.attname) as column, format_type(a.atttypid, null) as type
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind in ('r', 'p', 'm') and c.relnamespace <> 'information_schema'::regnamespace
    and c.relnamespace::regnamespace::text not like 'pg\\_%' order by 1, a.attnum`;

/** Returns the tables of a database that contain a secret. Searches every row as text, with bytes decoded. */
export async function tablesWithSecrets(url: string): Promise<string[]> {
  const settings = { url, applicationName: 'openaisle-canary', statementTimeoutMs: 300_000 };
  const client = await connectClient(settings).catch((error: unknown) => {
    // The database is gone, because its test dropped it.
    if (error instanceof Error && 'code' in error && error.code === '3D000') return null;
    throw error;
  });
  if (client === null) return [];
  try {
    return await search(client);
  } finally {
    await client.end();
  }
}

async function search(client: Client): Promise<string[]> {
  const { rows: columns } = await client.query<Column>(COLUMNS);
  const tables = Map.groupBy(columns, ({ table }) => table);
  if (tables.size === 0) return [];
  // The database preselects the few rows that contain the beginning of a secret; the guard then decides.
  const parts = [...tables].map(
    ([table, own]) => `select '${table}' as table, text from (
      select concat_ws(' ', ${own.map(asText).join(', ')}) as text from ${table} t) rows where text ~* '${BEGINNINGS}'`,
  );
  const { rows } = await client.query<{ table: string; text: string }>(parts.join('\nunion all '));
  return [...new Set(rows.filter(({ text }) => holdsSecret(text)).map(({ table }) => table))];
}

function asText({ column, type }: Column): string {
  if (type === 'bytea') return `encode(${column}, 'escape')`;
  if (type === 'bytea[]') return `(select string_agg(encode(one, 'escape'), ' ') from unnest(${column}) one)`;
  return `${column}::text`;
}

/** Returns the part of each base64 encoding (one per offset modulo 3) that depends on this text alone. */
function inBase64(text: string): string[] {
  return [0, 1, 2].map((shift) => {
    const spelled = Buffer.from('\0'.repeat(shift) + text).toString('base64');
    // The first and last characters also encode bits of neighboring text.
    const whole = spelled.slice(Math.ceil((4 * shift) / 3), Math.floor((4 * (shift + text.length)) / 3));
    return whole.replaceAll('+', '\\+');
  });
}

const BEGINNINGS = [
  ...CANARY_PREFIXES.map((prefix) => `${prefix}_(sk|rc|pc)_`),
  ...CANARY_PREFIXES.flatMap((prefix) => inBase64(`${prefix}_`)),
].join('|');

const CITY_MIGRATIONS = fileURLToPath(new URL('../../migrations/city', import.meta.url));

export interface TestDatabase {
  readonly url: string;
  readonly database: Database;
}

interface TestDatabaseOptions {
  /** False creates a database without tables. Default: true. */
  migrated?: boolean;
  /** Site whose tables are created. Default: market. */
  site?: 'market' | 'city';
  poolSize?: number;
  /** Allows events that contradict the books, for tests of the log itself and of pages that show it. */
  inventedEvents?: true;
}

/** Creates a database on this run's shared server. Dropping it also searches it for secrets. */
export async function createTestDatabase(
  options: TestDatabaseOptions = {},
): Promise<TestDatabase & { drop(): Promise<void> }> {
  const { adminUrl, template, templateError } = inject('testPostgres');
  const isCity = options.site === 'city';
  const migrated = (options.migrated ?? true) && !isCity;
  if (migrated && templateError !== null) throw new Error(`the migrations failed: ${templateError}`);
  const name = `openaisle_test_${systemRandom.bytes(8).toString('hex')}`;
  await onServer(adminUrl, `create database ${name} encoding 'UTF8' template ${migrated ? template : 'template0'}`);
  const address = new URL(adminUrl);
  address.pathname = `/${name}`;
  if (isCity) await migrate(address.href, CITY_MIGRATIONS);
  if (options.inventedEvents === true)
    await onServer(address.href, 'alter table events disable trigger events_tell_of_the_books');
  const database = await openDatabase({
    url: address.href,
    poolSize: options.poolSize ?? 8,
    // An external server may be tuned for speed, since test data may be lost.
    allowUnsafe: true,
    // Tests insert dozens of rows at once, so a statement may wait longer for a connection than in a market.
    connectTimeoutMs: 60_000,
  });
  return {
    url: address.href,
    database,
    drop: async () => {
      await database.close();
      const tables = await tablesWithSecrets(address.href).finally(() =>
        onServer(adminUrl, `drop database ${name} with (force)`),
      );
      const leaks = [...takeLeaks(), ...tables.map((table) => `the table ${table}`)];
      if (leaks.length > 0) throw new Error(`${expect.getState().testPath}: a secret got into ${leaks.join(', ')}`);
    },
  };
}

/** Creates one database for all tests of a file or `describe`, and drops it after the last. */
export function testDatabase(options: TestDatabaseOptions = {}): TestDatabase {
  let made: Awaited<ReturnType<typeof createTestDatabase>> | null = null;
  beforeAll(async () => {
    made = await createTestDatabase(options);
  });
  afterAll(async () => {
    await made?.drop();
  });
  const current = (): TestDatabase => {
    if (made === null) throw new Error('the test database exists only while tests run');
    return made;
  };
  return {
    get url() {
      return current().url;
    },
    get database() {
      return current().database;
    },
  };
}

/** Tables that refused requests may change: call counters, and cached readings of chain and facilitator. */
const MAY_CHANGE = new Set(['rate_counters', 'facilitator_signers', 'facilitator_readings', 'chain_watermarks']);

/** Returns the row count of every table that is not in `MAY_CHANGE`. Two equal results mean that no row was added. */
export async function countRows(database: Database): Promise<Record<string, bigint>> {
  const tables = await database.rows<{ name: string }>(
    raw(`select tablename as name from pg_tables where schemaname = current_schema() order by tablename`),
  );
  const names = tables.map(({ name }) => name).filter((name) => !MAY_CHANGE.has(name));
  const counts = names.map((name) => `(select count(*) from "${name}") as "${name}"`);
  return database.one<Record<string, bigint>>(raw(`select ${counts.join(', ')}`));
}

interface SeverableDatabase {
  database: Database;
  /** Breaks open connections and refuses new ones. */
  sever(): Promise<void>;
  close(): Promise<void>;
}

/** Connects to the same database through a proxy that can be cut. */
export async function severableDatabase(url: string): Promise<SeverableDatabase> {
  const { host, port, user, password, database: name } = new Client({ connectionString: url });
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(socket);
      });
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL('postgresql://127.0.0.1');
  address.port = String((server.address() as AddressInfo).port);
  address.username = encodeURIComponent(user ?? '');
  address.password = encodeURIComponent(typeof password === 'string' ? password : '');
  address.pathname = `/${name}`;
  const database = await openDatabase({ url: address.href, poolSize: 2, allowUnsafe: true });
  const sever = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  return {
    database,
    sever,
    close: async () => {
      await database.close();
      await sever();
    },
  };
}
