import { expect, it } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { marketContext } from '../../test/support/market-context.ts';
import { severableDatabase } from '../../test/support/severable-database.ts';
import { createMarket } from './create-market.ts';

const db = testDatabase();

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
