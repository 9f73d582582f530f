import { beforeAll, beforeEach, expect, it } from 'vitest';
import { toCursor, toPosition } from '../../src/market/catalog/shelf/shelf-page.ts';
import { createCursors } from '../../src/platform/cursor.ts';
import { browsePage, idsOf, reasonOf, type ShelfGiven } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import {
  editListing,
  hideAllListings,
  pinListing,
  seedFreePurchase,
  seedStock,
  seedVote,
  withdrawListing,
} from '../support/seed.ts';
import { askOperation, fromMemory } from './ask.ts';
import { addressOf } from './random-shelves.ts';
import { openStage, processOn, type Stage } from './stage.ts';

const db = testDatabase();
const HOUR_MS = 60 * 60_000;
const START = Date.UTC(2026, 0, 6);
let stage: Stage;
beforeAll(async () => {
  stage = await openStage(db.database);
});
beforeEach(() => hideAllListings(db.database));

const stock = (titles: readonly string[]) =>
  seedStock(
    db.database,
    stage.sellers[0] ?? 0n,
    titles.map((title) => ({ title, tags: ['red'], aisle: 'data' })),
  );
const SIX = ['lamp one', 'lamp two', 'lamp three', 'lamp four', 'lamp five', 'lamp six'];
let market: ReturnType<typeof processOn>;
beforeAll(() => {
  market = processOn(db.database, { clock: settableClock(START) });
});

async function firstCursor(query: ShelfGiven): Promise<string> {
  const { next_cursor: cursor } = await browsePage(market, { ...query, limit: '2' });
  if (cursor === null) throw new Error('the walk ends too soon');
  return cursor;
}

it('a cursor of other filters, of another sort, or changed in any place, is refused', async () => {
  await stock(SIX);
  const walks: ShelfGiven[] = [
    {},
    { sort: 'karma' },
    { sort: 'price_asc' },
    { aisle: 'data' },
    { tag: 'red' },
    { seller: 'lamp-house' },
    { free: 'false' },
    { max_price_usdc: '5' },
    { max_price_usdc: '6' },
    { q: 'lamp ' },
    { q: 'lamp' },
    { q: 'lamp ', sort: 'new' },
    { q: 'lamp -gone ' },
  ];
  const cursors = await Promise.all(walks.map(firstCursor));
  for (const [at, walk] of walks.entries()) {
    for (const [other, cursor] of cursors.entries()) {
      const reason = await reasonOf(browsePage(market, { ...walk, limit: '2', cursor }));
      expect(reason, `${JSON.stringify(walk)} with a cursor of ${JSON.stringify(walks[other])}`).toBe(
        at === other ? 'none' : 'cursor_invalid',
      );
    }
  }
  const [cursor = ''] = cursors;
  for (let at = 0; at < cursor.length; at += 1) {
    const changed = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`;
    expect(await reasonOf(browsePage(market, { limit: '2', cursor: changed }))).toBe('cursor_invalid');
    expect(fromMemory(market, addressOf({ limit: '2', cursor: changed }))).toBeNull();
  }
  for (const wrong of ['x', cursor.slice(1), `${cursor}A`, cursor.slice(0, -4), '....']) {
    expect(await reasonOf(browsePage(market, { limit: '2', cursor: wrong }))).toBe('cursor_invalid');
  }
});

it('a page may be of another size, and of another form, than the one before', async () => {
  const ids = await stock(SIX);
  const cursor = await firstCursor({});
  const rest = await browsePage(market, { limit: '50', fields: 'outline', cursor });
  expect(idsOf(rest)).toEqual(ids.slice(0, 4).reverse().map(Number));
});

it('a cursor holds for 24 hours, in other processes and after a restart, and is refused afterwards', async () => {
  const ids = await stock(SIX);
  const clock = settableClock(START);
  const one = processOn(db.database, { clock });
  const { next_cursor: cursor } = await browsePage(one, { q: 'lamp ', limit: '2' });
  if (cursor === null) throw new Error('there is more');
  const later = processOn(db.database, { clock });
  clock.set(START + 24 * HOUR_MS - 1);
  for (const market of [one, later]) {
    const page = await browsePage(market, { q: 'lamp ', limit: '4', cursor });
    expect(idsOf(page)).toEqual(ids.slice(0, 4).reverse().map(Number));
    expect(fromMemory(market, addressOf({ q: 'lamp ', limit: '4', cursor }))?.text).toBe(
      (await askOperation(market, addressOf({ q: 'lamp ', limit: '4', cursor }))).text,
    );
  }
  clock.set(START + 24 * HOUR_MS + 60_001);
  expect(await reasonOf(browsePage(later, { q: 'lamp ', limit: '4', cursor }))).toBe('cursor_expired');
  expect(fromMemory(later, addressOf({ q: 'lamp ', limit: '4', cursor }))).toBeNull();
});

it('a walk that goes on in a process that is behind shows nothing twice', async () => {
  const ids = await seedStock(
    db.database,
    stage.sellers[1] ?? 0n,
    SIX.map((title) => ({ title: title.slice(5), description: 'a lamp' })),
  );
  const [ahead, behind] = [processOn(db.database), processOn(db.database)];
  const middle = ids[3] ?? 0n;
  const changes = {
    karma: async () => {
      for (const voter of stage.voters) await seedVote(db.database, middle, voter);
    },
    sales: async () => {
      await seedFreePurchase(db.database, middle, stage.voters[0] ?? 0n);
    },
    new: () => pinListing(db.database, middle, true),
    relevance: () => editListing(db.database, middle, { title: 'lamp lamp' }),
  };
  for (const [sort, change] of Object.entries(changes) as [keyof typeof changes, () => Promise<void>][]) {
    await behind.catalog.fresh();
    await behind.catalog.searchable();
    await change();
    await ahead.catalog.fresh();
    await ahead.catalog.searchable();
    const given: ShelfGiven = { sort, q: 'lamp ', limit: '1' };
    const first = JSON.parse((await askOperation(ahead, addressOf(given))).text);
    expect(first.listings[0].id, sort).toBe(Number(middle));
    const next = addressOf({ ...given, limit: '50', cursor: first.next_cursor });
    expect(fromMemory(behind, next), sort).toBeNull();
    const second = JSON.parse((await askOperation(behind, next)).text);
    const rest = second.listings.map(({ id }: { id: number }) => id);
    expect(rest, sort).toEqual(
      ids
        .filter((id) => id !== middle)
        .map(Number)
        .reverse(),
    );
    await pinListing(db.database, middle, false);
  }
});

it('a walk goes on under the same words in another order', async () => {
  const both = [
    'brass and a map',
    'map, and once more map, for brass',
    'brass brass brass, a map',
    'a map of brass brass',
  ];
  const alone = ['brass', 'brass', 'brass', 'brass', 'brass'];
  const given = [...both, ...alone].map((description) => ({ title: 'Goods', description }));
  const ids = await seedStock(db.database, stage.sellers[0] ?? 0n, given);
  const shown: number[] = [];
  let asked: ShelfGiven | null = { limit: '1' };
  for (let count = 0; asked !== null; count += 1) {
    const page: Awaited<ReturnType<typeof browsePage>> = await browsePage(market, {
      ...asked,
      q: count % 2 === 0 ? 'brass map ' : 'map brass ',
    });
    shown.push(...idsOf(page));
    asked = page.next_cursor === null ? null : { limit: '1', cursor: page.next_cursor };
  }
  const whole = await browsePage(market, { q: 'map brass ' });
  expect(shown).toEqual(idsOf(whole));
  expect(shown).toHaveLength(ids.length);
  expect(shown.slice(0, both.length).toSorted((a, b) => a - b)).toEqual(ids.slice(0, both.length).map(Number));
});

it('a word that is there twice, once as a beginning, ranks the same in every process, whatever was listed in between', async () => {
  const ids = await stock(['lamp map map', 'lamp lamp map', 'lamp map', 'map lamp lamp lamp', 'lamp map map map']);
  const old = processOn(db.database, { clock: settableClock(START) });
  const first = await browsePage(old, { q: 'lamps map lamp', limit: '2' });
  const [passing = 0n] = await stock(['lamplight']);
  expect((await browsePage(old, { q: 'lamps map lamp', limit: '2' })).total).toBe(6);
  await withdrawListing(db.database, passing);
  const fresh = processOn(db.database, { clock: settableClock(START) });
  for (const process of [old, fresh]) {
    await process.catalog.fresh();
    await process.catalog.searchable();
  }
  const address = addressOf({ q: 'lamps map lamp', limit: '2' });
  expect(await askOperation(old, address)).toEqual(await askOperation(fresh, address));
  const cursor = first.next_cursor ?? '';
  const rest = await browsePage(fresh, { q: 'lamps map lamp', limit: '50', cursor });
  expect([...idsOf(first), ...idsOf(rest)].toSorted((a, b) => a - b)).toEqual(ids.map(Number));
});

it('the cursor of the longest query that fits is one that may be sent', () => {
  const weights = Array.from({ length: 120 }, (_, at) => 321 - at);
  const most = 1_000_000;
  const cursor = {
    revision: most,
    left: most,
    newest: most,
    isPinned: false,
    key: 16 * 70_000,
    id: most,
    progress: 9 * most,
    least: 32,
    // Four words of 200 letters in a script with three bytes for a letter, each spelled with two more letters.
    choices: Array.from({ length: 4 }, () => '\u10d0'.repeat(51)).join(','),
    weights,
  };
  const cursors = createCursors([Buffer.alloc(32, 7)], settableClock(START));
  for (const given of [
    { ...cursor, weights: weights.slice(0, 8) },
    { ...cursor, choices: ','.repeat(31) },
  ]) {
    const sealed = cursors.seal('walk', toPosition(given));
    expect(sealed.length).toBeLessThanOrEqual(2_048);
    const elsewhere = createCursors([Buffer.alloc(32, 7)], settableClock(START));
    const opened = toCursor(elsewhere.open('walk', sealed));
    // Weights are packed in groups, so zeros may follow.
    expect({ ...opened, weights: opened.weights.slice(0, given.weights.length) }).toEqual(given);
    expect(opened.weights.slice(given.weights.length).every((weight) => weight === 0)).toBe(true);
  }
});
