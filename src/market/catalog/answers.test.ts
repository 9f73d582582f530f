import { beforeEach, expect, it } from 'vitest';
import { processOn } from '../../../test/catalog/stage.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { createReadFromMemory } from '../operations.ts';

const db = testDatabase();
let now: number;
let least: number;
let seller: SeededMerchant;
let process: ReturnType<typeof processOn>;
let read: (target: string, acceptsGzip?: boolean) => { text: string; etag: string };

beforeEach(async () => {
  // Start mid-minute, because cursors change at the end of a minute.
  now = Date.parse('2030-01-01T12:00:10.000Z');
  least = 0;
  seller = await seedMerchant(db.database);
  process = processOn(db.database, { clock: { now: () => now, sleep: async () => {} } });
  await process.catalog.fresh();
  const answer = createReadFromMemory(process, { leastVersion: () => least });
  read = (target, acceptsGzip = false) => {
    const page = answer({ target, accept: undefined, acceptsGzip, hasKey: false, network: () => '' });
    if (page === null) throw new Error(`${target} is in memory`);
    const text = Buffer.from(page.body).toString('latin1');
    page.release?.();
    return { text, etag: page.etag };
  };
});

async function list(): Promise<string> {
  const { id } = await seedListing(db.database, seller.id);
  await process.catalog.fresh();
  return `"id":${id},`;
}

it('a page of the shelves may be up to 100 ms old, and no older', async () => {
  read('/api/shelves');
  const id = await list();
  now += 99;
  expect(read('/api/shelves').text).not.toContain(id);
  expect(read('/api/shelves?limit=2').text).toContain(id);
  now += 1;
  expect(read('/api/shelves').text).toContain(id);
});

it('a page that was found to be the same is as new as that look', async () => {
  const { etag } = read('/api/shelves?aisle=wanted');
  now += 150;
  expect(read('/api/shelves?aisle=wanted').etag).toBe(etag);
  await process.catalog.fresh();
  const made = process.catalog.answers.pagesMade();
  await list();
  now += 150;
  const other = read('/api/shelves?aisle=wanted');
  // Every page contains the counts of the aisles.
  expect(other.etag).not.toBe(etag);
  expect(process.catalog.answers.pagesMade()).toBe(made + 1);
});

it('a client that wrote is shown its write, whatever the age of the page', async () => {
  read('/api/shelves');
  const id = await list();
  least = process.catalog.model().version;
  expect(read('/api/shelves').text).toContain(id);
});

it('stores, merchants, the window and listings are never older than the copy', async () => {
  const store = `/api/store/${seller.handle}?limit=5`;
  const id = await list();
  for (const target of [store, '/api/window']) {
    expect(read(target).text).toContain(id);
  }
  const next = await list();
  for (const target of [store, '/api/window']) expect(read(target).text).toContain(next);
  const merchants = read('/api/merchants?limit=100').text;
  const { handle } = await seedMerchant(db.database);
  await process.catalog.fresh();
  expect(merchants).not.toContain(`"${handle}"`);
  expect(read('/api/merchants?limit=100').text).toContain(`"${handle}"`);
});

it('nothing of a replaced copy is served', async () => {
  read('/api/shelves');
  const id = await list();
  process.catalog.reload();
  await process.catalog.fresh();
  expect(read('/api/shelves').text).toContain(id);
});
