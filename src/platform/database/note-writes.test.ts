import sql, { raw } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { isOutcomeUnknown } from './database-error.ts';
import { type NotedDatabase, noteWrites } from './note-writes.ts';

const db = testDatabase({ migrated: false });
let noted: NotedDatabase;

beforeAll(async () => {
  await db.database.run(raw('create table things (id int primary key)'));
  await db.database.run(raw('insert into things values (1)'));
  noted = noteWrites(db.database);
});

/** Returns true if `act` changed the mark, whether it succeeded or failed. */
async function marks(act: (noted: NotedDatabase) => Promise<unknown>): Promise<boolean> {
  const before = noted.mark();
  await act(noted).catch(() => {});
  expect(noted.mark()).not.toBeNull();
  return noted.mark() !== before;
}

it('what only reads leaves the mark as it is', async () => {
  expect(await marks(({ database }) => database.rows(sql`select * from things`))).toBe(false);
  expect(await marks(({ database }) => database.one(sql`  with t as (select 1 as n) select n from t`))).toBe(false);
  expect(await marks(({ database }) => database.maybe(sql`select no_such_column from things`))).toBe(false);
  const reading = ({ database }: NotedDatabase) =>
    database.transaction((tx) => tx.rows(sql`select * from things`), { readOnly: true });
  expect(await marks(reading)).toBe(false);
});

it('what may have changed something moves it', async () => {
  expect(await marks(({ database }) => database.run(sql`insert into things values (2)`))).toBe(true);
  expect(await marks(({ database }) => database.maybe(sql`delete from things where id = 2 returning id`))).toBe(true);
  const within = sql`with gone as (delete from things where id = 3 returning id) select count(*) as n from gone`;
  expect(await marks(({ database }) => database.one(within))).toBe(true);
  expect(await marks(({ database }) => database.transaction((tx) => tx.run(sql`insert into things values (4)`)))).toBe(
    true,
  );
  // `one` throws because two rows are returned, but both were changed.
  expect(await marks(({ database }) => database.one(sql`update things set id = id + 10 returning id`))).toBe(true);
  expect(await db.database.rows(sql`select id from things where id > 10 order by id`)).toHaveLength(2);
});

it('a transaction that was rolled back leaves it, one whose commit was never answered does not', async () => {
  const refused = ({ database }: NotedDatabase) =>
    database.transaction(async (tx) => {
      await tx.run(sql`insert into things values (20)`);
      throw new Error('refused');
    });
  expect(await marks(refused)).toBe(false);
  await db.database.run(
    raw(`create function cut() returns trigger language plpgsql as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`),
  );
  await db.database.run(
    raw(`create constraint trigger cut after insert on things deferrable initially deferred for each row
      when (new.id = 30) execute function cut()`),
  );
  const cut = ({ database }: NotedDatabase) =>
    database.transaction((tx) => tx.run(sql`insert into things values (30)`));
  await expect(cut(noted)).rejects.toSatisfy(isOutcomeUnknown);
  expect(await marks(cut)).toBe(true);
});

it('there is no mark while something is under way, and the next one is there before its answer', async () => {
  const before = noted.mark();
  let answered: number | null = null;
  const inside = await noted.database.transaction(async (tx) => {
    await tx.run(sql`insert into things values (40)`);
    expect(noted.mark()).toBeNull();
    return 'done';
  });
  answered = noted.mark();
  expect([inside, answered !== null && answered !== before]).toEqual(['done', true]);
});
