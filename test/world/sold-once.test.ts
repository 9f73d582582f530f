import sql, { type Sql } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { constraintOf } from '../../src/platform/database/database-error.ts';
import { testDatabase } from '../support/database.ts';
import {
  type SeededMerchant,
  seedFee,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
} from '../support/seed.ts';

// Tests the constraints against selling twice. The code checks first, so it never violates them.

const db = testDatabase();
let seller: SeededMerchant;
let buyer: SeededMerchant;
beforeAll(async () => {
  seller = await seedMerchant(db.database);
  buyer = await seedMerchant(db.database);
});

/** Returns the constraint (or SQLSTATE) that `act` violates. Null if it succeeds. */
async function brokenRule(act: () => Promise<unknown>): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (error) {
    const broken = constraintOf(error);
    if (broken === null) throw error;
    return broken.constraint ?? broken.sqlstate;
  }
}

const run = (statement: Sql) => () => db.database.run(statement);

it('goods are sold to a merchant once, for nothing or for money', async () => {
  const { id } = await seedListing(db.database, seller.id);
  await seedFreePurchase(db.database, id, buyer.id);
  expect(await brokenRule(() => seedFreePurchase(db.database, id, buyer.id))).toBe('purchases_one_per_merchant');
  expect(await brokenRule(() => seedPaidPurchase(db.database, id, { merchantId: buyer.id }))).toBe(
    'purchases_one_per_merchant',
  );
});

it('goods are sold to a payer once, whatever became of the payments', async () => {
  const { id } = await seedListing(db.database, seller.id);
  const other = await seedListing(db.database, seller.id);
  const payer = `0x${'7a'.repeat(20)}` as const;
  const first = await seedPaidPurchase(db.database, id, { payer });
  await seedPaidPurchase(db.database, other.id, { payer });
  const again =
    run(sql`insert into purchases (listing_id, merchant_id, payer, payment_id, price_units, paid_units, verified_via, created_at)
    select listing_id, ${buyer.id}, payer, (select max(payment_id) from purchases), price_units, paid_units, verified_via, created_at
    from purchases where id = ${first.id}`);
  // Both rows share one payment. Drop the constraint on the payment first, so that the one on the payer is reached.
  await db.database.run(sql`alter table purchases drop constraint purchases_payment_id_key`);
  expect(await brokenRule(again)).toBe('purchases_one_per_payer');
});

it('one fee pays for one listing, of the merchant who paid it', async () => {
  const fee = await seedFee(db.database, seller.id);
  await seedListing(db.database, seller.id, { feeId: fee });
  expect(await brokenRule(() => seedListing(db.database, seller.id, { feeId: fee }))).toBe('listings_fee_id_key');
  const unspent = await seedFee(db.database, seller.id);
  expect(await brokenRule(() => seedListing(db.database, buyer.id, { feeId: unspent }))).not.toBeNull();
});

it('the price and the wallet of goods stay as they were when a buyer began to pay', async () => {
  const { id } = await seedListing(db.database, seller.id);
  expect(await brokenRule(run(sql`update listings set price_units = price_units - 1 where id = ${id}`))).toBe(
    'listing_terms_are_fixed',
  );
  expect(await brokenRule(run(sql`update listings set seller_wallet = ${Buffer.alloc(20, 9)} where id = ${id}`))).toBe(
    'listing_terms_are_fixed',
  );
});
