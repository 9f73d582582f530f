import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { constraintOf, isForeignKeyViolation, isUnavailable, isUniqueViolation } from './database-error.ts';

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
