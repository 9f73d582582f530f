import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { inSnapshot } from '../database/database.ts';
import { refuseUnreadable } from './failure.ts';

const db = testDatabase();

async function thrownBy(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act().then(() => null);
  } catch (error) {
    return error;
  }
}

it('takes a read that the database gave up on for one that cannot be served', async () => {
  const slow = await thrownBy(() =>
    inSnapshot(db.database, async (snapshot) => {
      await snapshot.run(sql`set local statement_timeout = 20`);
      await snapshot.run(sql`select pg_sleep(5)`);
    }),
  );
  expect(refuseUnreadable(slow, ['read_unavailable'])?.reason).toBe('read_unavailable');
  expect(refuseUnreadable(slow, ['not_found'])?.reason).toBe('unavailable');
});

it('hides no other error', async () => {
  const mistake = await thrownBy(() => db.database.run(sql`select 1 / 0`));
  expect(mistake).toBeInstanceOf(Error);
  expect(refuseUnreadable(mistake, ['read_unavailable'])).toBeNull();
  expect(refuseUnreadable(new Error('a bug'), [])).toBeNull();
});
