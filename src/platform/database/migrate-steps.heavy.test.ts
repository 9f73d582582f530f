import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { systemClock } from '../clock.ts';
import type { Progress } from './apply-migration.ts';
import { connectClient } from './connection.ts';
import { migrate, pendingMigrations } from './migrate.ts';

const PROGRAM = fileURLToPath(new URL('../../../test/support/migrate-program.ts', import.meta.url));
const GATE = 4_711;

const FIRST = `create table t (id int8 primary key, v int8, updates int8 not null default 0);
insert into t select n from generate_series(1, 50) n;
create function count_update() returns trigger language plpgsql as $$
begin
  if old.id = 25 then perform pg_advisory_xact_lock(${GATE}); end if;
  new.updates = old.updates + 1;
  return new;
end $$;
create trigger count_update before update on t for each row execute function count_update();`;

const STEPS = `alter table t add column w int8;

-- fill: w-of-t
update t set w = id * 2 where id in (select id from t where w is null order by id limit 10);

-- concurrently
create index concurrently t_by_w on t (w);
create unique index concurrently t_one_w on t (w);

-- then
alter table t add constraint w_is_even check (w % 2 = 0) not valid;
alter table t validate constraint w_is_even;`;

let db: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;

beforeEach(async () => {
  db = await createTestDatabase({ migrated: false });
  folder = await mkdtemp(join(tmpdir(), 'openaisle-steps-'));
  await writeFile(join(folder, '0001-first.sql'), FIRST);
  await migrate(db.url, folder);
  await writeFile(join(folder, '0002-steps.sql'), STEPS);
});

afterEach(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await systemClock.sleep(5);
}

const count = async (query: ReturnType<typeof sql>): Promise<number> =>
  Number((await db.database.one<{ n: bigint }>(query)).n);

/** Runs the migration in another process. Once `condition` holds, kills that process and its session. */
async function killWhen(condition: () => Promise<boolean>): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, db.url, folder], { stdio: 'inherit' });
  const ended = once(child, 'exit');
  await until(condition);
  child.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  const own = sql`from pg_stat_activity where application_name = 'openaisle-migrate' and datname = current_database()`;
  await db.database.rows(sql`select pg_terminate_backend(pid) ${own}`);
  await until(async () => (await count(sql`select count(*) as n ${own}`)) === 0);
}

async function expectWhole(): Promise<void> {
  expect(await pendingMigrations(db.database, folder)).toEqual([]);
  expect(await count(sql`select count(*) as n from t where w = id * 2`)).toBe(
    await count(sql`select count(*) as n from t`),
  );
  expect(
    await db.database.rows(sql`select indexrelid::regclass::text as name, indisvalid as valid from pg_index
    where indexrelid in ('t_by_w'::regclass, 't_one_w'::regclass) order by 1`),
  ).toEqual([
    { name: 't_by_w', valid: true },
    { name: 't_one_w', valid: true },
  ]);
  expect(await count(sql`select count(*) as n from pg_constraint where conname = 'w_is_even' and convalidated`)).toBe(
    1,
  );
  expect(await count(sql`select count(*) as n from schema_migration_steps`)).toBe(0);
}

test('a migration of several steps is applied in batches, while others write, and says how far it is', async () => {
  const said: Progress[] = [];
  expect(await migrate(db.url, folder, (progress) => said.push(progress))).toEqual(['0002-steps']);
  await expectWhole();
  expect(await count(sql`select count(*) as n from t where updates = 1`)).toBe(50);
  const migration = '0002-steps';
  expect(said).toEqual([
    { migration, step: 'fill w-of-t', rows: 50, done: true },
    { migration, step: 't_by_w, t_one_w', rows: 2, done: true },
  ]);
});

test('a fill that is killed keeps its batches, and goes on with the rest', async () => {
  const gate = await connectClient({ url: db.url, statementTimeoutMs: 0 });
  await gate.query('select pg_advisory_lock($1)', [GATE]);
  await killWhen(
    async () =>
      // pg_locks lists the locks of all databases, including those of other tests.
      (await count(sql`select count(*) as n from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`)) === 1,
  );
  await gate.end();
  expect(await count(sql`select count(*) as n from t where w is not null`)).toBe(20);
  expect((await pendingMigrations(db.database, folder)).map(({ name }) => name)).toEqual(['0002-steps']);
  // Code that is running still writes rows.
  await db.database.run(sql`insert into t (id) values (51)`);
  expect(await migrate(db.url, folder)).toEqual(['0002-steps']);
  await expectWhole();
  expect(await count(sql`select count(*) as n from t where updates = 1`)).toBe(51);
});

test('an index whose making was killed is made again, and rows are written meanwhile', async () => {
  const reader = await connectClient({ url: db.url, statementTimeoutMs: 0 });
  // Creating an index waits for all older snapshots.
  await reader.query('begin isolation level repeatable read');
  await reader.query('select 1');
  const isMade = sql`select count(*) as n from pg_index where indexrelid = to_regclass('t_by_w') and not indisvalid`;
  await killWhen(async () => (await count(isMade)) === 1);
  expect(await count(isMade)).toBe(1);
  await db.database.run(sql`insert into t (id, w) values (60, 120)`);
  await reader.end();
  expect(await migrate(db.url, folder)).toEqual(['0002-steps']);
  await expectWhole();
});

test('starters at once do not stop each other while an index is made', async () => {
  const applied = await Promise.all([1, 2, 3].map(() => migrate(db.url, folder)));
  expect(applied.flat()).toEqual(['0002-steps']);
  await expectWhole();
});

test('a migration that changes after some of its steps were applied is refused', async () => {
  await writeFile(join(folder, '0002-steps.sql'), `${STEPS}\nselect 1 / 0;`);
  await expect(migrate(db.url, folder)).rejects.toThrow('migration 0002-steps failed: division by zero');
  await writeFile(join(folder, '0002-steps.sql'), STEPS);
  await expect(migrate(db.url, folder)).rejects.toThrow('changed after some of its steps were applied');
});

test.each([
  ['-- concurrently\ncreate index t_by_w on t (v);', 'is expected, not: create index t_by_w'],
  ['-- fill: two\nupdate t set v = 1; update t set v = 2;', 'fill two must be one statement'],
  ['-- Fill: odd name\nupdate t set v = 1;', 'is not a valid step mark of a migration'],
])('what cannot be meant is refused before anything runs: %s', async (text, why) => {
  await writeFile(join(folder, '0002-steps.sql'), `create table never (id int8);\n${text}`);
  await expect(migrate(db.url, folder)).rejects.toThrow(why);
  expect(await count(sql`select count(*) as n from pg_class where relname = 'never'`)).toBe(0);
});
