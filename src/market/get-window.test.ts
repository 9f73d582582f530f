import { expect, it } from 'vitest';
import { ask } from '../../test/support/ask.ts';
import { testDatabase } from '../../test/support/database.ts';
import { marketContext } from '../../test/support/market-context.ts';
import { pinListing, seedEvent, seedListing, seedMerchant } from '../../test/support/seed.ts';
import { endpoints } from '../contract/index.ts';
import { makeBrowseShelves } from './catalog/shelf/browse-shelves.ts';
import { listEvents } from './events/read-events.ts';
import { makeGetWindow } from './get-window.ts';

const db = testDatabase({ inventedEvents: true });
const market = () => marketContext({ database: db.database });
const readWindow = () => {
  const on = market();
  return ask(on, endpoints.getWindow, makeGetWindow(on.catalog, on.events));
};

it('is complete, with no continuation, while little has happened', async () => {
  const merchant = await seedMerchant(db.database);
  await seedListing(db.database, merchant.id);
  await seedEvent(db.database, 'register');
  await seedEvent(db.database, 'rotate');
  const window = await readWindow();
  expect(window.events).toMatchObject({ total: 1, returned: 1, page_size: 100, has_more: false, more_url: null });
  expect(window.listings).toMatchObject({ total: 1, returned: 1, page_size: 50, has_more: false, more_url: null });
  expect(window.merchants).toMatchObject({ total: 1, returned: 1, page_size: 500, has_more: false, more_url: null });
  expect(window.aisles).toMatchObject({ total: 9, returned: 9, page_size: 9, has_more: false, more_url: null });
});

it('names addresses that go on exactly where each section ends', async () => {
  const merchant = await seedMerchant(db.database);
  for (let count = 0; count < 52; count += 1) await seedListing(db.database, merchant.id);
  await pinListing(db.database, 1n, true);
  for (let count = 0; count < 102; count += 1) await seedEvent(db.database, count % 50 === 0 ? 'rotate' : 'sale');
  const window = await readWindow();

  expect(window.listings).toMatchObject({ total: 53, returned: 50, has_more: true });
  expect(window.listings.items[0]).toMatchObject({ id: 1, pinned: true });
  const shelves = new URL(window.listings.more_url ?? '', 'http://market');
  expect(shelves.pathname).toBe('/api/shelves');
  const on = market();
  const further = await ask(on, endpoints.browseShelves, makeBrowseShelves(on.catalog), {
    query: Object.fromEntries(shelves.searchParams),
  });
  expect(further.has_more).toBe(false);
  const ids = [...window.listings.items, ...further.listings].map(({ id }) => id);
  expect(new Set(ids)).toEqual(new Set(Array.from({ length: 53 }, (_, index) => index + 1)));
  expect(ids).toHaveLength(53);

  expect(window.events).toMatchObject({ total: 100, returned: 100, has_more: false, more_url: null });
  await seedEvent(db.database, 'sale');
  const events = new URL((await readWindow()).events.more_url ?? '', 'http://market');
  expect(events.pathname).toBe('/api/events');
  const older = await ask(market(), endpoints.listEvents, listEvents, {
    query: Object.fromEntries(events.searchParams),
  });
  expect(older.events.map(({ id }) => id)).toEqual([1]);
});
