import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { SEED_TIME, type SeededMerchant, seedMerchant } from '../../../../test/support/seed.ts';
import { seedWorldListing } from '../../../../test/support/world-listing.ts';
import type { Hex } from '../../../platform/hex.ts';
import { restoreCheckout, setCityHandle } from '../store.ts';
import { type CityClaim, findClaimedCheckout } from './decide-sale.ts';
import { findWorldListing, type WorldListing } from './store.ts';

const HOUR_MS = 3_600_000;
const RECOVERED = SEED_TIME.getTime() + 10 * HOUR_MS;
const FLOOR = 1_000n;
const WALLET: Hex = `0x${'a1'.repeat(20)}`;
const db = testDatabase();
let listing: WorldListing;
let buyer: SeededMerchant;

beforeAll(async () => {
  const seller = await seedMerchant(db.database, { handle: 'the-seller' });
  buyer = await seedMerchant(db.database, { handle: 'the-buyer' });
  await setCityHandle(db.database, seller.id, 'sid');
  await setCityHandle(db.database, buyer.id, 'bob');
  const { id } = await seedWorldListing(db.database, seller.id, { sellerHandle: 'sid' });
  listing = (await findWorldListing(db.database, id)) as WorldListing;
  await db.database.run(sql`insert into id_floors (kind, id) values ('world_checkouts', ${FLOOR})`);
  await db.database.run(sql`
    insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
    values (1, 0, 9, 'a test', 0, 1, '{}', ${new Date(RECOVERED)})`);
});

function claimOf(changes: Partial<CityClaim> = {}): CityClaim {
  const reservedAt = RECOVERED - HOUR_MS;
  return {
    ...{
      buyer: 'bob',
      marketBuyer: 'the-buyer',
      checkoutId: FLOOR,
      buyerWallet: WALLET,
      txHash: `0x${'b2'.repeat(32)}`,
    },
    ...{ reservedAt, reservedUntil: reservedAt + 300_000, claimedAt: new Date(reservedAt) },
    ...changes,
  };
}
const found = (changes?: Partial<CityClaim>) => findClaimedCheckout(db.database, listing, claimOf(changes));

test.each<[string, Partial<CityClaim>]>([
  ['another resident than the one that the merchant names', { buyer: 'eve' }],
  ['another merchant than the one that names the resident', { marketBuyer: 'the-seller' }],
  ['an unknown merchant', { marketBuyer: 'no-such-merchant' }],
  ['the seller, by both names', { marketBuyer: 'the-seller', buyer: 'sid' }],
  ['a reservation of after the recovery', { reservedAt: RECOVERED + 1_000 }],
  ['a reservation of before the merchant came', { reservedAt: SEED_TIME.getTime() - HOUR_MS }],
])('a lost checkout of %s names no buyer, and breaks no term', async (_what, changes) => {
  expect(await found(changes)).toEqual({ checkout: null, isLost: true });
});

test('an id that was never given out is no lost checkout', async () => {
  expect(await found({ checkoutId: FLOOR + 1n })).toEqual({ checkout: null, isLost: false });
});

test('a lost checkout is as the city tells of it, and stands in the books under its id once it is put there', async () => {
  const { checkout, isLost } = await found();
  expect(isLost).toBe(true);
  expect(checkout).toMatchObject({ id: FLOOR, listingId: listing.id, merchantId: buyer.id, cityHandle: 'bob' });
  await db.database.transaction(async (tx) => {
    if (checkout !== null) await restoreCheckout(tx, checkout);
  });
  expect(await found()).toEqual({ checkout: { ...checkout, state: 'completed' }, isLost: false });
});
