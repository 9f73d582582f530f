import { beforeEach, expect, it } from 'vitest';
import { fromMemory } from '../../../test/catalog/ask.ts';
import { processOn } from '../../../test/catalog/stage.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { seedListing, seedMerchant } from '../../../test/support/seed.ts';

const PAGES = 250;
const db = testDatabase();
let now: number;
let sleeps: number[];
let process: ReturnType<typeof processOn>;

beforeEach(async () => {
  // Start far from the end of a minute, because a new minute rebuilds all pages.
  now = Date.parse('2030-01-01T12:00:10.000Z');
  sleeps = [];
  const sleep = async (ms: number): Promise<void> => {
    sleeps.push(ms);
    now += ms;
  };
  process = processOn(db.database, { clock: { now: () => now, sleep } });
  await process.catalog.fresh();
});

async function list(): Promise<bigint> {
  const seller = await seedMerchant(db.database);
  return (await seedListing(db.database, seller.id)).id;
}

/** Reads enough pages in a fifth of a second for a rate above 1,000 per second. */
function readPages(): void {
  for (let page = 1; page <= PAGES; page += 1)
    expect(fromMemory(process, `/api/shelves?max_price_usdc=${page}`)).not.toBeNull();
}

/** Makes one change and many reads within 200 ms, the window in which a crowd is detected. */
async function crowd(): Promise<void> {
  await list();
  await process.catalog.fresh();
  readPages();
  now += 200;
}

it('while more than a thousand reads a second come, each step comes 100 ms after the last, and its callers miss nothing', async () => {
  readPages();
  await crowd();
  await crowd();
  expect(sleeps).toEqual([]);
  await process.catalog.fresh();
  const since = now;
  const ids = [await list(), await list()];
  await Promise.all(ids.map(() => process.catalog.fresh()));
  expect([sleeps, now - since]).toEqual([[100], 100]);
  expect(fromMemory(process, '/api/shelves')?.text).toContain(`"id":${ids[1]},`);
});

it('a request for the JSON of a listing waits for no such pause', async () => {
  const id = await list();
  readPages();
  await crowd();
  await process.catalog.fresh();
  await process.catalog.loadListings([Number(id)]);
  expect(Math.max(0, ...sleeps)).toBeLessThanOrEqual(20);
});

it('as soon as few pages are read again, steps go at once', async () => {
  readPages();
  await crowd();
  await process.catalog.fresh();
  now += 200;
  for (let turn = 0; turn < 3; turn += 1) await process.catalog.fresh();
  expect(sleeps).toEqual([]);
});
