import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, eventsOf, holdTransactionOpen, untilWaiting } from '../../../test/support/listing-life.ts';
import { marketContext, settableClock } from '../../../test/support/market-context.ts';
import {
  removeListing,
  type SeededMerchant,
  seedListing,
  seedMerchant,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import type { Market } from '../context.ts';
import { lockListing, markWithdrawn } from '../listings/changes/store.ts';
import { voteListing } from './vote-listing.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const db = testDatabase();
let market: Market;
let seller: SeededMerchant;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  seller = await seedMerchant(db.database);
});

const vote = (id: bigint, caller: SeededMerchant, of: Market = market) =>
  act(of, endpoints.voteListing, voteListing, { body: { listing_id: Number(id) }, caller });
const made = async (): Promise<bigint> => (await seedListing(db.database, seller.id)).id;
const rowsOf = (id: bigint) =>
  db.database.rows(sql`select merchant_id from votes where listing_id = ${id} order by merchant_id`);

it('counts once for each merchant, and is no event', async () => {
  const id = await made();
  const [one, two] = [await seedMerchant(db.database), await seedMerchant(db.database)];
  expect(await vote(id, one)).toEqual({ listing_id: Number(id), votes: 1 });
  expect(await vote(id, two)).toEqual({ listing_id: Number(id), votes: 2 });
  expect(await vote(id, one)).toEqual({ listing_id: Number(id), votes: 2 });
  expect(await rowsOf(id)).toEqual([{ merchant_id: one.id }, { merchant_id: two.id }]);
  expect(await eventsOf(db.database, id)).toEqual([]);
});

it('given ten times at once by one merchant, and at once by ten, is one vote each', async () => {
  const id = await made();
  const eager = await seedMerchant(db.database);
  const answers = await Promise.all(Array.from({ length: 10 }, () => vote(id, eager)));
  expect(answers).toEqual(Array(10).fill({ listing_id: Number(id), votes: 1 }));
  const many = await Promise.all(Array.from({ length: 10 }, () => seedMerchant(db.database)));
  await Promise.all(many.map((merchant) => vote(id, merchant)));
  expect(await rowsOf(id)).toHaveLength(11);
});

it('is for the live listings of others', async () => {
  const voter = await seedMerchant(db.database);
  const id = await made();
  expect(await reasonOf(vote(id, seller))).toBe('own_listing');
  expect(await reasonOf(vote(999_999n, voter))).toBe('not_found');
  await withdrawListing(db.database, id);
  expect(await reasonOf(vote(id, voter))).toBe('listing_closed');
  const removed = await made();
  await removeListing(db.database, removed);
  expect(await reasonOf(vote(removed, voter))).toBe('listing_closed');
  expect([await rowsOf(id), await rowsOf(removed)]).toEqual([[], []]);
});

it('that was given stands, and is answered alike, when the listing has ended', async () => {
  const voter = await seedMerchant(db.database);
  const id = await made();
  await vote(id, voter);
  await withdrawListing(db.database, id);
  expect(await vote(id, voter)).toEqual({ listing_id: Number(id), votes: 1 });
});

it('waits for a withdrawal that is just being made, and is refused', async () => {
  const voter = await seedMerchant(db.database);
  const id = await made();
  const withdrawing = await holdTransactionOpen(db.database, async (tx) => {
    await lockListing(tx, id);
    await markWithdrawn(tx, id, null, new Date(NOON));
  });
  const voted = reasonOf(vote(id, voter));
  await untilWaiting(db.database);
  await withdrawing.commit();
  expect(await voted).toBe('listing_closed');
  expect(await rowsOf(id)).toEqual([]);
});

it('counts against the day, refused ones too; one that stands is answered beyond the limit and counts no more', async () => {
  const clock = settableClock(NOON);
  const few = marketContext({ database: db.database, clock, limits: { votes_per_merchant_day: 3 } });
  const voter = await seedMerchant(db.database);
  const [first, second, third] = [await made(), await made(), await made()];
  const own = (await seedListing(db.database, voter.id)).id;
  await vote(first, voter, few);
  for (const _ of [1, 2, 3, 4]) await vote(first, voter, few);
  expect(await reasonOf(vote(own, voter, few))).toBe('own_listing');
  await vote(second, voter, few);
  expect(await reasonOf(vote(third, voter, few))).toBe('rate_limited');
  expect(await vote(first, voter, few)).toEqual({ listing_id: Number(first), votes: 1 });
  clock.set(NOON + 43_200_000);
  expect(await vote(third, voter, few)).toEqual({ listing_id: Number(third), votes: 1 });
});

it('is limited to 50 a day for each merchant by default', () => {
  expect(market.config.limits.votes_per_merchant_day).toBe(50);
});
