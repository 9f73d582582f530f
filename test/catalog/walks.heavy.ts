import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rotatedRounds, rotationPart } from '../suite/rotation.ts';
import { idsOf, type ShelfPage, walkShelves } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { marketContext, settableClock } from '../support/market-context.ts';
import { hideAllListings, seedStock } from '../support/seed.ts';
import { reportWords } from './naive-search.ts';
import {
  comparePlaces,
  hasAllWords,
  matchesNaively,
  type NaiveRow,
  type NaiveShelf,
  placeOf,
  readNaiveRows,
  readNaiveShelf,
  sortNaively,
} from './naive-shelves.ts';
import { asSent, change, goods, query } from './random-shelves.ts';
import { openStage, perform } from './stage.ts';

const db = testDatabase();

const plan = fc.record({
  stock: fc.array(fc.record({ goods, seller: fc.nat(1) }), { minLength: 2, maxLength: 24, size: 'max' }),
  before: fc.array(change, { maxLength: 8, size: 'max' }),
  query,
  outline: fc.boolean(),
  limit: fc.constantFrom(1, 1, 1, 2, 2, 3, 4, 5),
  changes: fc.array(fc.array(change, { maxLength: 4, size: 'max' }), { maxLength: 12, size: 'max' }),
});

interface Seen {
  page: ShelfPage;
  rows: Map<number, NaiveRow>;
  matching: NaiveRow[];
}

/** Checks that no row comes twice or beyond the total, that all totals are right, and that the first page matches the naive sort. */
function checkCounts(seen: readonly Seen[], shelf: NaiveShelf, limit: number): void {
  const [first] = seen;
  if (first === undefined) throw new Error('a walk has a page');
  const ids = seen.flatMap(({ page }) => idsOf(page));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeLessThanOrEqual(first.page.total);
  const sorted = sortNaively([...first.rows.values()], shelf).map(({ id }) => id);
  expect(idsOf(first.page)).toEqual(sorted.slice(0, limit));
  expect(first.page.has_more).toBe(sorted.length > limit);
  for (const { page, matching } of seen) {
    expect(page.total).toBe(matching.length);
    expect(page.returned).toBe(page.listings.length);
    expect(page.has_more).toBe(page.next_cursor !== null);
    const shown = new Set(matching.map(({ id }) => id));
    for (const id of idsOf(page)) expect(shown).toContain(id);
  }
}

/** Checks that every page says how the words of the first page are searched, with their numbers of listings now. */
function checkReports(seen: readonly Seen[], shelf: NaiveShelf): void {
  const { search } = shelf;
  for (const { page, rows, matching } of seen) {
    if (search === null || page.search === null) {
      expect(page.search).toBe(search);
      continue;
    }
    const { matched, ...said } = page.search;
    const texts = [...rows.values()].map(({ text }) => text);
    const { ignored, missing } = search;
    if (shelf.query.need?.match === 'any')
      expect(said).toEqual({ words: reportWords(search, texts), ignored, missing });
    if (matching.length > 0 || page === seen[0]?.page)
      expect(matched).toBe(hasAllWords(matching, shelf) ? 'all' : 'some');
  }
}

/**
 * Checks that each row sorts after the previous one, by the values that both had when they were shown. Pins and word weights are those at
 * the start.
 */
function checkOrder(seen: readonly Seen[], shelf: NaiveShelf): void {
  const places = seen.flatMap(({ page, rows }) =>
    idsOf(page).map((id) => {
      const row = rows.get(id);
      if (row === undefined) throw new Error(`${id} is not live`);
      return placeOf(row, shelf);
    }),
  );
  expect(places).toEqual(places.toSorted(comparePlaces));
}

/**
 * Checks that every listing was shown that stayed on the shelf and did not move while the pages were read. Checks nothing if an older
 * listing came onto the shelf meanwhile.
 */
function checkComplete(seen: readonly Seen[], { query: { sort } }: NaiveShelf): void {
  const [first] = seen;
  if (first === undefined) return;
  const newest = Math.max(0, ...first.rows.keys());
  const atFirst = new Set(first.matching.map(({ id }) => id));
  const entered = seen.some(({ matching }) => matching.some(({ id }) => !atFirst.has(id) && id <= newest));
  if (entered) return;
  const still = first.matching.filter(({ id, votes, sales, verifiedSales, editedRevision }) =>
    seen.every(({ matching }) => {
      const now = matching.find((row) => row.id === id);
      if (now === undefined) return false;
      if (sort === 'karma') return now.votes === votes;
      if (sort === 'sales') return now.sales === sales;
      const isSame = now.editedRevision === editedRevision && now.verifiedSales === verifiedSales;
      return sort !== 'relevance' || isSame;
    }),
  );
  const shown = seen.flatMap(({ page }) => idsOf(page));
  expect(shown).toEqual(expect.arrayContaining(still.map(({ id }) => id)));
}

it('walks with any filters and sort agree with a plain evaluation of the tables, while everything changes between the pages', async () => {
  const { database } = db;
  const stage = await openStage(database);
  const market = marketContext({ database, clock: settableClock(Date.UTC(2026, 0, 6)) });
  await fc.assert(
    fc.asyncProperty(plan, async ({ stock, before, query: given, outline, limit, changes }) => {
      await hideAllListings(database);
      const ids: bigint[] = [];
      for (const seller of [0, 1]) {
        const own = stock.filter((one) => one.seller === seller).map((one) => one.goods);
        if (own.length > 0) ids.push(...(await seedStock(database, stage.sellers[seller] ?? 0n, own)));
      }
      for (const one of before) await perform(stage, ids, one);
      const seen: Seen[] = [];
      const shelf = await readNaiveShelf(database, given);
      const rest = [...changes];
      await walkShelves(
        market,
        { ...asSent(given), limit: String(limit), ...(outline ? { fields: 'outline' } : {}) },
        async () => {
          for (const one of rest.shift() ?? []) await perform(stage, ids, one);
        },
        {
          seen: async (page) => {
            const rows = await readNaiveRows(database);
            const matching = rows.filter((row) => matchesNaively(row, shelf));
            seen.push({ page, rows: new Map(rows.map((row) => [row.id, row])), matching });
          },
        },
      );
      checkCounts(seen, shelf, limit);
      checkReports(seen, shelf);
      checkOrder(seen, shelf);
      checkComplete(seen, shelf);
    }),
    {
      numRuns: rotatedRounds(import.meta.filename, 200),
      seed: Number(process.env['WALK_SEED'] ?? 20_260_107 + rotationPart()),
    },
  );
}, 120_000);
