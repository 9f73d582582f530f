import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { reasonOf } from '../../test/support/ask.ts';
import { testDatabase } from '../../test/support/database.ts';
import { inSnapshot } from './in-snapshot.ts';
import { readOrRefuse } from './read-or-refuse.ts';

const db = testDatabase();

it('takes a read that the database gave up on for one that cannot be served', async () => {
  const slow = readOrRefuse(() =>
    inSnapshot(db.database, async (snapshot) => {
      await snapshot.run(sql`set local statement_timeout = 20`);
      await snapshot.run(sql`select pg_sleep(5)`);
    }),
  );
  expect(await reasonOf(slow)).toBe('read_unavailable');
});

it('hides no other error', async () => {
  await expect(readOrRefuse(() => db.database.run(sql`select 1 / 0`))).rejects.toThrow('division by zero');
  await expect(readOrRefuse(() => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug');
  expect(await readOrRefuse(async () => 7)).toBe(7);
});
