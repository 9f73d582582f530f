import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import {
  moveListing,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
} from '../../../../test/support/seed.ts';
import { seedFees } from '../../../../test/support/seed-books.ts';
import { countFreeListings, sumFees, sumSales } from './store.ts';

const db = testDatabase();

it('finds nothing in empty books', async () => {
  expect(await sumFees(db.database, 10)).toEqual({ fees: 0n, units: 0n, merchants: 0n, days: [], top: [] });
  expect(await sumSales(db.database)).toEqual([]);
  expect(await countFreeListings(db.database)).toBe(0n);
});

it('sums the same fees by day and by merchant, and names those who paid most', async () => {
  const merchants = [];
  for (const handle of ['one', 'two', 'three', 'four'])
    merchants.push((await seedMerchant(db.database, { handle })).id);
  const from = new Date(Date.UTC(2026, 0, 5, 12));
  await seedFees(db.database, 15, { merchants, from, to: new Date(Date.UTC(2026, 0, 7, 12)) });
  // In time zones east of UTC this is already the next day.
  const late = new Date('2026-01-31T23:59:59+00:00');
  await seedFees(db.database, 1, { merchants, from: late, to: late });
  const sums = await sumFees(db.database, 2);
  expect(sums).toMatchObject({ fees: 16n, units: 16_000_000n, merchants: 4n });
  expect(sums.days.map(({ day }) => day)).toEqual(['2026-01-05', '2026-01-06', '2026-01-07', '2026-01-31']);
  expect(sums.days.reduce((sum, { units }) => sum + units, 0n)).toBe(16_000_000n);
  expect(sums.top).toEqual([
    { merchant: 'one', fees: 9n, units: 9_000_000n },
    { merchant: 'two', fees: 4n, units: 4_000_000n },
  ]);
});

it('sums what was paid by the aisle where it lies now, apart from what was free', async () => {
  const { id: seller } = await seedMerchant(db.database);
  const { id: buyer } = await seedMerchant(db.database);
  const { id: data } = await seedListing(db.database, seller, { aisle: 'data', priceUnits: 1_500_000n });
  const { id: moved } = await seedListing(db.database, seller, { aisle: 'tools', priceUnits: 250_000n });
  const { id: free } = await seedListing(db.database, seller, { aisle: 'other', priceUnits: 0n });
  await seedPaidPurchase(db.database, data);
  await seedPaidPurchase(db.database, data, { merchantId: buyer });
  await seedPaidPurchase(db.database, moved);
  await seedFreePurchase(db.database, free, buyer);
  await moveListing(db.database, moved, 'skills');
  const sales = await sumSales(db.database);
  expect(sales.toSorted((one, other) => one.aisle.localeCompare(other.aisle))).toEqual([
    { aisle: 'data', paid: 2n, units: 3_000_000n, free: 0n },
    { aisle: 'other', paid: 0n, units: 0n, free: 1n },
    { aisle: 'skills', paid: 1n, units: 250_000n, free: 0n },
  ]);
  expect(await countFreeListings(db.database)).toBe(3n);
});

it('reads ten thousand fees in one pass over the table', async () => {
  const { id } = await seedMerchant(db.database);
  const from = new Date(Date.UTC(2025, 0, 1));
  await seedFees(db.database, 10_000, { merchants: [id], from, to: new Date(Date.UTC(2025, 11, 31)) });
  const { fees } = await db.database.one<{ fees: bigint }>(sql`select count(*) as fees from fees`);
  const sums = await sumFees(db.database, 10);
  expect(sums.fees).toBe(fees);
  expect(sums.days.length).toBeGreaterThan(300);
});
