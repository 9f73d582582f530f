import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { marketContext } from '../../test/support/market-context.ts';
import { severableDatabase } from '../../test/support/severable-database.ts';
import { inSnapshot } from '../platform/database/in-snapshot.ts';
import { createMarket } from './create-market.ts';
import { refuseUnreadable } from './refuse-unreadable.ts';

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

it('while the database is away every read about money says that it shows nothing, also of a key that cannot be looked up', async () => {
  const severable = await severableDatabase(db.url);
  const { http } = createMarket({ ...marketContext({ database: severable.database }) });
  await severable.sever();
  const key = `aisle_sk_${'0'.repeat(49)}`;
  const authorization = { authorization: `Bearer ${key}` };
  for (const url of ['/treasury', `/api/payment?tx_hash=0x${'a'.repeat(64)}`]) {
    const answer = await http.inject({ method: 'GET', url });
    expect([answer.statusCode, answer.json().reason, answer.json().do_not_pay_again]).toEqual([
      503,
      'read_unavailable',
      true,
    ]);
  }
  expect((await http.inject({ method: 'GET', url: '/api/events' })).json().reason).toBe('unavailable');
  // Shelves go on from what is known.
  expect((await http.inject({ method: 'GET', url: '/api/shelves' })).statusCode).toBe(200);
  // A key with a wrong checksum never reaches the database; a right one does.
  expect((await http.inject({ method: 'GET', url: '/api/me', headers: authorization })).statusCode).toBe(401);
  await http.close({ drainMs: 0 });
  await severable.close();
});
