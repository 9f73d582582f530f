import sql, { raw } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import {
  constraintOf,
  isForeignKeyViolation,
  isOutcomeUnknown,
  isUnavailable,
  isUniqueViolation,
  whyUnavailable,
} from './database-error.ts';

const db = testDatabase({ migrated: false });

async function failureOf(query: ReturnType<typeof sql>): Promise<unknown> {
  return db.database.run(query).then(
    () => null,
    (error: unknown) => error,
  );
}

test('each kind of broken rule maps to its SQLSTATE and its name', async () => {
  await db.database.run(sql`create table rules (
    n int4 primary key, up int4 constraint up_exists references rules, price int8 constraint price_positive check (price > 0))`);
  await db.database.run(sql`insert into rules values (1, null, 1)`);

  const unique = await failureOf(sql`insert into rules values (1, null, 1)`);
  expect(constraintOf(unique)).toEqual({ sqlstate: '23505', constraint: 'rules_pkey' });
  expect([isUniqueViolation(unique), isUniqueViolation(unique, 'rules_pkey')]).toEqual([true, true]);
  expect([isUniqueViolation(unique, 'other'), isForeignKeyViolation(unique)]).toEqual([false, false]);

  const foreign = await failureOf(sql`insert into rules values (2, 9, 1)`);
  expect(constraintOf(foreign)).toEqual({ sqlstate: '23503', constraint: 'up_exists' });
  expect(isForeignKeyViolation(foreign, 'up_exists')).toBe(true);

  const check = await failureOf(sql`insert into rules values (2, null, 0)`);
  expect(constraintOf(check)).toEqual({ sqlstate: '23514', constraint: 'price_positive' });

  const missing = await failureOf(sql`insert into rules values (null, null, 1)`);
  expect(constraintOf(missing)).toEqual({ sqlstate: '23502', constraint: null });
});

test('a rule raised by a trigger can carry a name', async () => {
  const raised = await failureOf(sql`do $$ begin
    raise exception 'append only' using errcode = 'restrict_violation', constraint = 'events_append_only'; end $$`);
  expect(constraintOf(raised)).toEqual({ sqlstate: '23001', constraint: 'events_append_only' });
});

test('other errors are no constraint and no unavailability', async () => {
  const wrong = await failureOf(sql`select 1 / 0`);
  for (const error of [wrong, new Error('ECONNREFUSED'), 'text', null, undefined]) {
    expect(constraintOf(error)).toBeNull();
    expect(isUnavailable(error)).toBe(false);
  }
});

/** Returns a statement that makes the server raise an error with that code. */
const raise = (code: string) => raw(`do $$ begin raise exception 'on purpose' using errcode = '${code}'; end $$`);

test('a server that is there and cannot do its work is away, and has done nothing', async () => {
  const whys = new Map<string, string | null>([
    ['53100', 'disk_full'],
    ['53200', 'out_of_memory'],
    ['53300', 'too_many_connections'],
    ['53400', 'out_of_resources'],
    ['57000', null],
    ['57P03', null],
    ['58030', 'io_error'],
    ['58P01', 'io_error'],
    ['25006', 'read_only'],
    ['26000', 'session_shared'],
    ['42P05', 'session_shared'],
    ['08006', null],
  ]);
  for (const [code, why] of whys) {
    const alone = await failureOf(sql`${raise(code)}`);
    expect([code, isUnavailable(alone), isOutcomeUnknown(alone), whyUnavailable(alone)]).toEqual([
      code,
      true,
      false,
      why,
    ]);
    const inside = await db.database
      .transaction((tx) => tx.last.run(sql`${raise(code)}`))
      .catch((error: unknown) => error);
    expect([code, isUnavailable(inside), isOutcomeUnknown(inside)]).toEqual([code, true, false]);
  }
});

test('a statement that took too long, a deadlock and a bug are not taken for a server that is away', async () => {
  for (const code of ['57014', '40P01', '40001', 'XX000', '22012'])
    expect([code, isUnavailable(await failureOf(sql`${raise(code)}`))]).toEqual([code, false]);
});

test('a commit that is refused is rolled back, and known to be', async () => {
  await db.database.run(sql`create table late (n int4)`);
  await db.database.run(sql`create function fail_late() returns trigger language plpgsql as
    $$ begin raise exception 'on purpose' using errcode = 'disk_full'; end $$`);
  await db.database.run(sql`create constraint trigger late after insert on late deferrable initially deferred
    for each row execute function fail_late()`);
  for (const write of [
    () => db.database.transaction((tx) => tx.run(sql`insert into late values (1)`)),
    () => db.database.transaction((tx) => tx.last.run(sql`insert into late values (1)`)),
    () => db.database.run(sql`insert into late values (1)`),
  ]) {
    const error = await write().catch((thrown: unknown) => thrown);
    expect([isUnavailable(error), isOutcomeUnknown(error), whyUnavailable(error)]).toEqual([true, false, 'disk_full']);
  }
  expect(await db.database.rows(sql`select * from late`)).toEqual([]);
});
