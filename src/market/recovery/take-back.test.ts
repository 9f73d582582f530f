import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { seedMerchant } from '../../../test/support/seed.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import { slipOfIntent } from '../payments/recovery-slip.ts';
import { restoreFromSlip } from './guard-history.ts';
import { hasIntent } from './store.ts';

const db = testDatabase();
const ID = 'a'.repeat(32);
const AT = new Date('2026-05-20T12:00:00Z');
const after = new Date(AT.getTime() + 1);

/** Returns a slip of an intent that the database lost. */
function lostSlip(merchantId = 1n): string {
  return slipOfIntent(marketContext({ database: db.database }), {
    ...{ id: ID, purpose: 'listing_fee', listingId: null, merchantId, chainId: 8453n, payer: null },
    ...{ asset: `0x${'1'.repeat(40)}`, payee: `0x${'2'.repeat(40)}`, minimumUnits: 1_000_000n, exactUnits: null },
    ...{ nonce: 'b'.repeat(32), challenge: 'text', createdAt: AT, expiresAt: after },
  });
}

test('the database is asked only where a recovery after the payment is known', async () => {
  const database = await openDatabase({ url: db.url, poolSize: 1 });
  await database.close();
  const market = marketContext({ database });
  const slip = lostSlip();
  for (const recoveredAt of [null, AT]) await restoreFromSlip(market, slip, recoveredAt);
  await expect(restoreFromSlip(market, slip, after)).rejects.toThrow();
  await expect(restoreFromSlip(market, `${slip.slice(0, -2)}AA`, null)).rejects.toMatchObject({
    reason: 'invalid_fields',
  });
});

test('a recovery that the database does not hold takes nothing back', async () => {
  const { id } = await seedMerchant(db.database);
  await db.database.run(sql`update merchants set joined_at = ${new Date(0)} where id = ${id}`);
  await restoreFromSlip(marketContext({ database: db.database }), lostSlip(id), after);
  expect(await hasIntent(db.database, ID)).toBe(false);
});
