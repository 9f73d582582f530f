import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { act, eventsOf, openPayment } from '../../../../test/support/listing-life.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import {
  removeListing,
  type SeededMerchant,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing as withdrawInTable,
} from '../../../../test/support/seed.ts';
import { endpoints } from '../../../contract/index.ts';
import type { Market } from '../../context.ts';
import { withdrawListing } from './withdraw-listing.ts';
import { withdrawWithReason } from './withdraw-with-reason.ts';

const db = testDatabase();
let market: Market;
let seller: SeededMerchant;
let other: SeededMerchant;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  await seedMerchant(db.database);
  seller = await seedMerchant(db.database, { handle: 'the-seller' });
  other = await seedMerchant(db.database);
});

const withdraw = (id: bigint, caller = seller) =>
  act(market, endpoints.withdrawListing, withdrawListing, { id, caller });
const withdrawFor = (id: bigint, body: { reason?: string }, caller = seller) =>
  act(market, endpoints.withdrawWithReason, withdrawWithReason, { id, body, caller });
const made = async (): Promise<bigint> => (await seedListing(db.database, seller.id)).id;

it('ends the listing for good and tells so in one event', async () => {
  const id = await made();
  const { listing } = await withdraw(id);
  expect(listing).toMatchObject({
    id: Number(id),
    state: 'withdrawn',
    withdrawn: true,
    withdrawn_at: expect.stringMatching(/Z$/),
    withdrawn_reason: null,
    removed: false,
  });
  expect(await eventsOf(db.database, id)).toEqual([
    {
      kind: 'withdrawal',
      actor: 'the-seller',
      detail: { listing_id: Number(id), merchant_id: Number(seller.id) },
    },
  ]);
});

it.each([
  [{ reason: 'enough\nof it' }, 'enough\nof it'],
  [{ reason: '' }, null],
  [{}, null],
])('with %j says why: %j', async (body, reason) => {
  expect((await withdrawFor(await made(), body)).listing.withdrawn_reason).toBe(reason);
});

it('takes a reason of 500 characters and none of 501', () => {
  const { body } = endpoints.withdrawWithReason;
  expect(body.safeParse({ reason: 'é'.repeat(500) }).success).toBe(true);
  expect(body.safeParse({ reason: 'x'.repeat(501) }).success).toBe(false);
});

it('again, by either door and for whatever reason, is answered with the first withdrawal', async () => {
  const id = await made();
  const { listing } = await withdrawFor(id, { reason: 'the first' });
  expect((await withdraw(id)).listing).toEqual(listing);
  expect((await withdrawFor(id, { reason: 'the second' })).listing).toEqual(listing);
  expect(await eventsOf(db.database, id)).toHaveLength(1);
});

it('ten at once are one withdrawal with one event and one answer', async () => {
  const id = await made();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => (n % 2 ? withdraw(id) : withdrawFor(id, { reason: `reason ${n}` }))),
  );
  expect(new Set(answers.map(({ listing }) => JSON.stringify(listing))).size).toBe(1);
  expect(await eventsOf(db.database, id)).toHaveLength(1);
});

it('is open after purchases and while a payment is under way, and leaves both as they are', async () => {
  const id = await made();
  await seedPaidPurchase(db.database, id, { merchantId: other.id });
  const { id: free } = await seedListing(db.database, seller.id, { priceUnits: 0n });
  await seedFreePurchase(db.database, free, other.id);
  const payment = await db.database.transaction((tx) => openPayment(tx, id));
  expect((await withdraw(id)).listing).toMatchObject({ state: 'withdrawn', sales: 1 });
  expect((await withdraw(free)).listing).toMatchObject({ state: 'withdrawn', sales: 1 });
  const row = await db.database.one(sql`select status from payments where id = ${payment.id}`);
  expect(row).toEqual({ status: 'verifying' });
});

it('belongs to its merchant alone', async () => {
  const id = await made();
  for (const caller of [other, { id: 1n, handle: 'the-keeper' }]) {
    expect(await reasonOf(withdraw(id, caller))).toBe('not_owner');
    expect(await reasonOf(withdrawFor(id, { reason: 'mine' }, caller))).toBe('not_owner');
  }
  expect(await reasonOf(withdraw(999_999n))).toBe('not_found');
  expect(await eventsOf(db.database, id)).toEqual([]);
});

it('is refused for a removed listing, unless it was withdrawn before that', async () => {
  const id = await made();
  await removeListing(db.database, id);
  expect(await reasonOf(withdraw(id))).toBe('listing_closed');
  expect(await eventsOf(db.database, id)).toEqual([]);
  const both = await made();
  await withdrawInTable(db.database, both);
  await removeListing(db.database, both);
  expect((await withdraw(both)).listing).toMatchObject({ state: 'removed', removed: true, withdrawn: true });
  expect(await eventsOf(db.database, both)).toEqual([]);
});
