import { type Client, DatabaseError } from 'pg';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { connectClient } from './connection.ts';
import { runBatch, type Statement } from './statement-batch.ts';

const db = testDatabase({ migrated: false });
let client: Client;

beforeEach(async () => {
  client = await connectClient({ url: db.url, statementTimeoutMs: 2_000 });
  await client.query('create temp table notes (n int4 primary key, text text)');
});

afterEach(async () => {
  await client.end();
});

const named = (text: string, ...values: unknown[]): Statement => ({ name: `t_${text}`.slice(0, 60), text, values });
const insert = (n: number): Statement => named('insert into notes values ($1, $2)', n, `note ${n}`);
const run = (...statements: Statement[]) => Promise.allSettled(runBatch(client, statements));
const valuesOf = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason));

test('each statement gets its own answer: rows, how many were touched, and what was done', async () => {
  const all = named('select n, text from notes order by n');
  expect(valuesOf(await run(insert(1), insert(2), all, named('delete from notes where n > $1', 5)))).toEqual([
    { rows: [], rowCount: 1, command: 'INSERT' },
    { rows: [], rowCount: 1, command: 'INSERT' },
    {
      rows: [
        { n: 1, text: 'note 1' },
        { n: 2, text: 'note 2' },
      ],
      rowCount: 2,
      command: 'SELECT',
    },
    { rows: [], rowCount: 0, command: 'DELETE' },
  ]);
});

test('rows are read alike the first time, when the server describes them, and later, when it does not', async () => {
  const texts = named(
    `select 1::int8 as big, 'x'::text as small, null::text as none, '2030-01-01T00:00:00Z'::timestamptz as at,
      '\\x00ff'::bytea as bytes, array[1, null]::int8[] as list, true as yes, 1.50::numeric as exact`,
  );
  const [first] = valuesOf(await run(texts));
  const [second, third] = valuesOf(await run(texts, texts));
  expect(first).toMatchObject({
    rows: [
      {
        big: 1n,
        small: 'x',
        none: null,
        at: new Date('2030-01-01T00:00:00Z'),
        bytes: Buffer.from([0, 255]),
        list: [1n, null],
        yes: true,
        exact: '1.50',
      },
    ],
  });
  expect([second, third]).toEqual([first, first]);
});

test('after the first that fails nothing is run, and the connection goes on', async () => {
  const begin = named('begin');
  const outcomes = await run(begin, insert(1), insert(1), insert(2), named('commit'));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected']);
  const errors = valuesOf(outcomes).slice(2);
  expect(errors[0]).toBeInstanceOf(DatabaseError);
  expect(new Set(errors).size).toBe(1);
  await client.query('rollback');
  expect(valuesOf(await run(named('select count(*) as n from notes'), insert(3)))).toMatchObject([
    { rows: [{ n: 0n }] },
    { rowCount: 1 },
  ]);
});

test('what the commit refuses fails the statement that it was the commit of', async () => {
  await client.query('alter table notes add unique (text) deferrable initially deferred');
  await run(insert(1));
  const same = named('insert into notes values ($1, $2)', 2, 'note 1');
  expect(valuesOf(await run(same))).toMatchObject([{ code: '23505' }]);
  expect(valuesOf(await run(named('begin'), same))).toMatchObject([{ command: 'BEGIN' }, { rowCount: 1 }]);
  expect(valuesOf(await run(named('commit')))).toMatchObject([{ code: '23505' }]);
  expect(valuesOf(await run(named('select n from notes')))).toMatchObject([{ rows: [{ n: 1 }] }]);
});

test('how many rows were touched is read from every kind of answer', async () => {
  const many = named('insert into notes select n from generate_series(1, 12) n');
  const made = named('create temp table more as select 1 as one');
  const outcomes = await run(
    named('create temp table others ()'),
    many,
    made,
    named('drop table more'),
    named('set jit = off'),
  );
  expect(valuesOf(outcomes)).toMatchObject([
    { command: 'CREATE', rowCount: 0 },
    { command: 'INSERT', rowCount: 12 },
    { command: 'SELECT', rowCount: 1 },
    { command: 'DROP', rowCount: 0 },
    { command: 'SET', rowCount: 0 },
  ]);
});

test('a batch is given the time of all its statements', async () => {
  const hasty = await connectClient({ url: db.url, statementTimeoutMs: 1 });
  // The statement may run for one millisecond, and the connection counts as dead five seconds later.
  await hasty.query('set statement_timeout = 0');
  const slow = Array.from({ length: 3 }, () => named('select pg_sleep(1.8)'));
  expect((await Promise.allSettled(runBatch(hasty, slow))).map(({ status }) => status)).toEqual(
    Array(3).fill('fulfilled'),
  );
  await hasty.end();
});

test('a statement that was prepared and then failed is not prepared again', async () => {
  await run(insert(1));
  const fresh = named('insert into notes (n) values ($1)', 1);
  for (let turn = 0; turn < 3; turn += 1) {
    expect(valuesOf(await run(fresh))).toMatchObject([{ code: '23505' }]);
  }
});

test('a statement that cannot be parsed fails by itself each time', async () => {
  const wrong = named('select nothing from nowhere');
  for (let turn = 0; turn < 2; turn += 1) expect(valuesOf(await run(wrong))).toMatchObject([{ code: '42P01' }]);
  expect(valuesOf(await run(insert(1)))).toMatchObject([{ rowCount: 1 }]);
});

test('a connection prepares 500 texts; what comes later runs, and leaves nothing behind on the server', async () => {
  await run(...Array.from({ length: 500 }, (_, at) => named(`select ${at} as known`)));
  for (let turn = 0; turn < 2; turn += 1)
    expect(valuesOf(await run(named('select $1::text as given', 'x')))).toMatchObject([{ rows: [{ given: 'x' }] }]);
  const { rows } = await client.query('select statement from pg_prepared_statements');
  expect(rows).toHaveLength(500);
  expect(JSON.stringify(rows)).not.toContain('given');
});

test('a lost connection fails everything of the batch', async () => {
  const outcomes = await run(insert(1), named('select pg_terminate_backend(pg_backend_pid())'), insert(2));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await db.database.one(sql`select 1 as alive`)).toEqual({ alive: 1 });
});

test('a value that cannot be written fails the batch before anything is sent', async () => {
  const unwritable = {
    toPostgres: () => {
      throw new Error('no such form');
    },
  };
  const outcomes = await run(insert(1), named('select $1::text as given', unwritable));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(valuesOf(await run(named('select count(*) as n from notes')))).toMatchObject([{ rows: [{ n: 0n }] }]);
});
