import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import sql from 'sql-template-tag';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { freePort } from '../support/free-port.ts';

/**
 * Checks on a real PgBouncer what the suite checks on its own pooler. Run it with `PGBOUNCER=/usr/sbin/pgbouncer DATABASE_URL=... node
 * test/packages-debian/pgbouncer.ts`. It needs an empty, disposable database in which the role may do everything. As root, it runs
 * PgBouncer as user `nobody`.
 */
const PROGRAM = process.env['PGBOUNCER'] ?? '/usr/sbin/pgbouncer';
const TARGET = process.env['DATABASE_URL'];
if (TARGET === undefined) throw new Error('DATABASE_URL is not set: name a database that may be thrown away');

/** Runs `act` with a URL of the database behind PgBouncer in that pool mode. */
async function behindPgBouncer(
  mode: 'session' | 'transaction' | 'statement',
  act: (url: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-pgbouncer-'));
  await chmod(folder, 0o755);
  const port = await freePort();
  const { host, port: serverPort, database, user, password } = new Client({ connectionString: TARGET });
  const secret = typeof password === 'string' && password !== '' ? ` password=${password}` : '';
  const server = `host=${host} port=${serverPort} dbname=${database} user=${user}${secret}`;
  const settings = [
    '[databases]',
    `openaisle = ${server}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 6',
  ];
  await writeFile(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`, { mode: 0o644 });
  const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(PROGRAM, ['-q', ...asNobody, join(folder, 'pgbouncer.ini')], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  let hasEnded = false;
  void exited.then(() => {
    hasEnded = true;
  });
  try {
    const url = `postgresql://anybody@127.0.0.1:${port}/openaisle`;
    while (!(await answers(url))) {
      if (hasEnded) throw new Error('PgBouncer has ended; it says why above');
      await systemClock.sleep(50);
    }
    await act(url);
  } finally {
    child.kill('SIGKILL');
    await exited;
    await rm(folder, { recursive: true });
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}

await behindPgBouncer('transaction', async (url) => {
  await assert.rejects(openDatabase({ url }), /pool_mode = session/);
  await assert.rejects(migrate(url, MIGRATIONS), /pool_mode = session/);
  process.stdout.write('pool_mode = transaction: refused at the start, and by the migrations\n');
});

await behindPgBouncer('statement', async (url) => {
  await assert.rejects(openDatabase({ url }), /not allowed in statement pooling mode/);
  process.stdout.write('pool_mode = statement: refused at the start, by PgBouncer\n');
});

await behindPgBouncer('session', async (url) => {
  await migrate(url, MIGRATIONS);
  const database = await openDatabase({ url, poolSize: 3, statementTimeoutMs: 1_000 });
  const limits = await database.rows(sql`
    select name, setting from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout') order by name`);
  assert.deepEqual(limits, [
    { name: 'idle_in_transaction_session_timeout', setting: '30000' },
    { name: 'statement_timeout', setting: '1000' },
  ]);
  await assert.rejects(database.rows(sql`select pg_sleep(20)`), { code: '57014' });
  const inside = await database.withAdvisoryLock('lead', () => database.withAdvisoryLock('other', async () => 'both'));
  assert.deepEqual(inside, { value: { value: 'both' } });
  const rows = Array.from({ length: 50 }, (_, n) => database.one<{ n: number }>(sql`select ${n}::int4 as n`));
  assert.deepEqual(
    (await Promise.all(rows)).map(({ n }) => n),
    rows.map((_, n) => n),
  );
  await database.close();
  process.stdout.write('pool_mode = session: works, with time limits and locks, without ignore_startup_parameters\n');
});
