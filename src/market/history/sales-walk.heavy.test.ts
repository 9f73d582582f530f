import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { ask } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { holdSales, takeFree } from '../../../test/support/listing-life.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { getMe } from './get-me.ts';
import { listPurchases } from './purchase-history.ts';

const db = testDatabase({ poolSize: 40 });
const AISLES = ['skills', 'prompts', 'tools', 'data'] as const;
let market: TestMarket;

beforeAll(() => {
  market = marketContext({ database: db.database });
});

interface Page {
  ids: number[];
  total: number;
  next: number | null;
}
type ReadPage = (before: number | null) => Promise<Page>;

const salesOf =
  (caller: SeededMerchant): ReadPage =>
  async (before) => {
    const query = { sales_limit: '2', ...(before === null ? {} : { sales_before_id: String(before) }) };
    const me = await ask(market, endpoints.getMe, getMe, { query, caller });
    return { ids: me.sales.map(({ id }) => id), total: me.sales_total, next: me.sales_next_before_id };
  };

const purchasesOf =
  (caller: SeededMerchant): ReadPage =>
  async (before) => {
    const query = { limit: '1', ...(before === null ? {} : { before_id: String(before) }) };
    const page = await ask(market, endpoints.listPurchases, listPurchases, { query, caller });
    return { ids: page.purchases.map(({ id }) => id), total: page.total, next: page.next_before_id };
  };

/** Reads all pages repeatedly until the last sale is committed, then once more. Returns that last reading. */
async function keepWalking(readPage: ReadPage, sold: () => number, isOver: () => boolean): Promise<number[]> {
  let known: number[] = [];
  for (let last = false; ; ) {
    last = isOver();
    const soldBefore = sold();
    const first = await readPage(null);
    const seen = [...first.ids];
    for (let { next } = first; next !== null; ) {
      const page = await readPage(next);
      seen.push(...page.ids);
      next = page.next;
    }
    expect(seen, 'each once, newest first').toEqual([...new Set(seen)].sort((a, b) => b - a));
    expect(seen, 'as many as the first page says').toHaveLength(first.total);
    expect(seen.length, 'all that were answered').toBeGreaterThanOrEqual(soldBefore);
    expect(seen.slice(seen.length - known.length), 'what is new stands before what was known').toEqual(known);
    if (last) return seen;
    known = seen;
  }
}

type Act = { sell: number; aisle: number } | { hold: number } | { release: number };
const aisle = fc.nat(AISLES.length - 1);
const sell = fc.record({ sell: fc.nat(5), aisle });
const act: fc.Arbitrary<Act> = fc.oneof(
  { arbitrary: sell, weight: 3 },
  fc.record({ hold: aisle }),
  fc.record({ release: aisle }),
);

const seedAll = (count: number): Promise<SeededMerchant[]> =>
  Promise.all(Array.from({ length: count }, () => seedMerchant(db.database)));

async function play(acts: readonly Act[]): Promise<void> {
  const [seller, first, ...others] = await seedAll(7);
  if (seller === undefined || first === undefined) throw new TypeError('no merchants');
  const buyers = [first, ...others];
  const goods = await Promise.all(
    AISLES.map((name) => seedListing(db.database, seller.id, { aisle: name, priceUnits: 0n })),
  );
  const gates = new Map<number, { commit(): Promise<void> }>();
  const sales = new Map<string, Promise<void>>();
  const sold = { all: 0, toFirst: 0 };
  let over = false;
  const walks = Promise.all([
    keepWalking(
      salesOf(seller),
      () => sold.all,
      () => over,
    ),
    keepWalking(
      purchasesOf(first),
      () => sold.toFirst,
      () => over,
    ),
  ]);
  // Avoid an unhandled rejection until the promise is awaited below.
  walks.catch(() => {});
  for (const one of acts) {
    if ('sell' in one) {
      const [buyer, listing] = [buyers[one.sell], goods[one.aisle]];
      const name = `${one.sell} ${one.aisle}`;
      if (buyer === undefined || listing === undefined || sales.has(name)) continue;
      const sale = takeFree(market, listing.id, buyer).then(() => {
        sold.all += 1;
        if (one.sell === 0) sold.toFirst += 1;
      });
      sales.set(name, sale);
    } else if ('hold' in one) {
      const name = AISLES[one.hold];
      if (name !== undefined && !gates.has(one.hold)) gates.set(one.hold, await holdSales(db.database, name));
    } else {
      await gates.get(one.release)?.commit();
      gates.delete(one.release);
    }
    // Give pending work a moment to proceed.
    await db.database.rows(sql`select 1`);
  }
  await Promise.all([...gates.values()].map((gate) => gate.commit()));
  await Promise.all(sales.values());
  over = true;
  const [shown] = await walks;
  expect(shown).toHaveLength(sales.size);
}

it('walks of sales and purchases miss none and show none twice, in whatever order sales are committed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: 40 }), (acts) => play(acts)),
    { numRuns: 25 },
  );
}, 60_000);
