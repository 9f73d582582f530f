import { beforeAll, beforeEach, expect, it } from 'vitest';
import { toHex } from '../../src/platform/hex.ts';
import { browsePage, idsOf, type ShelfGiven, type ShelfPage, walkShelves } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import { hideAllListings, seedListing, seedPaidPurchase, seedStock } from '../support/seed.ts';
import { askOperation } from './ask.ts';
import { addressOf } from './random-shelves.ts';
import { expectSame } from './same-bytes.ts';
import { openStage, processOn, type Stage } from './stage.ts';

// A walk keeps how its first page searched the words, whatever is listed in between, in every process.

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));
let stage: Stage;
let market: ReturnType<typeof processOn>;
beforeAll(async () => {
  stage = await openStage(db.database);
  market = processOn(db.database, { clock });
});
beforeEach(() => hideAllListings(db.database));

const stock = (titles: readonly string[]): Promise<bigint[]> =>
  seedStock(
    db.database,
    stage.sellers[0] ?? 0n,
    titles.map((title) => ({ title })),
  );

const numbered = (words: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${words} no ${at}`);

interface Case {
  q: string;
  titles: readonly string[];
  /** Listed after the first page. Each changes how the words would be searched anew. */
  added: readonly string[];
  report: object;
  /** The report of a first page after that. */
  anew: object;
  sort?: 'new' | 'relevance';
}

const CASES: Readonly<Record<string, Case>> = {
  'a word that was corrected': {
    q: 'lanterm ',
    titles: numbered('Lantern', 4),
    added: ['A lanterm'],
    report: { words: [{ word: 'lanterm', used_as: 'lantern', listings: 4 }], matched: 'all' },
    anew: { words: [{ word: 'lanterm', listings: 1 }], matched: 'all' },
  },
  'a corrected word of another script': {
    q: '\u043a\u0430\u0440\u0442\u044b ',
    titles: numbered('\u043a\u0430\u0440\u0442\u0430', 4),
    added: ['\u043a\u0430\u0440\u0442\u044b'],
    report: {
      words: [{ word: '\u043a\u0430\u0440\u0442\u044b', used_as: '\u043a\u0430\u0440\u0442\u0430', listings: 4 }],
    },
    anew: { words: [{ word: '\u043a\u0430\u0440\u0442\u044b', listings: 1 }] },
  },
  'a word that was two': {
    q: 'brasslantern ',
    titles: [...numbered('Lantern', 3), 'Brass lantern'],
    added: ['A brasslantern'],
    report: { words: [{ word: 'brasslantern', used_as: 'brass lantern', listings: 1 }], matched: 'all' },
    anew: { words: [{ word: 'brasslantern', listings: 1 }] },
  },
  'a word that was missing': {
    q: 'lantern xylophone ',
    titles: numbered('Lantern', 4),
    added: ['A xylophone'],
    report: { words: [{ word: 'lantern', listings: 4 }], missing: ['xylophone'], matched: 'some' },
    anew: { words: [{ word: 'lantern' }, { word: 'xylophone', listings: 1 }], missing: [], matched: 'some' },
  },
  'a word that was the beginning of others': {
    q: 'lant',
    titles: numbered('Lantern', 4),
    added: ['A lant'],
    report: { words: [{ word: 'lant', listings: 4 }] },
    anew: { words: [{ word: 'lant', listings: 1 }] },
  },
  'a name of words that say nothing': {
    q: 'lantern to do ',
    titles: numbered('Lantern', 4),
    added: ['A todo'],
    report: { words: [{ word: 'lantern', listings: 4 }], ignored: ['to', 'do'], matched: 'all' },
    anew: { words: [{ word: 'lantern' }, { word: 'todo', listings: 1 }] },
  },
  'the number of words that a listing needs': {
    q: 'lantern brass xylophone ',
    titles: ['A xylophone', ...numbered('Brass lantern', 4)],
    added: ['Brass lantern, brass xylophone'],
    report: { matched: 'some' },
    anew: { matched: 'all' },
    sort: 'new',
  },
};

const wordsOf = ({ search }: ShelfPage): unknown => search?.words.map(({ listings: _, ...word }) => word);

for (const [name, { q, titles, added, report, anew, sort = 'relevance' }] of Object.entries(CASES)) {
  it(`a walk keeps ${name}, although a listing now would change it`, async () => {
    const ids = (await stock(titles)).map(Number);
    const given: ShelfGiven = { q, sort, limit: '1' };
    const whole = idsOf(await browsePage(market, { ...given, limit: '50' }));
    const rest = [() => stock(added)];
    const { pages, ids: seen } = await walkShelves(market, given, async () => void (await rest.shift()?.()));
    expect(pages.length).toBeGreaterThan(1);
    expect(seen).toEqual(whole);
    expect(ids).toEqual(expect.arrayContaining(seen));
    const [first] = pages as [ShelfPage];
    expect(first.search).toMatchObject(report);
    for (const page of pages) {
      expect(wordsOf(page)).toEqual(wordsOf(first));
      expect({ ...page.search, words: [] }).toEqual({ ...first.search, words: [] });
    }
    expect((await browsePage(market, { q, sort })).search).toMatchObject(anew);
  });

  it(`a walk with ${name} goes on in a process that was just started`, async () => {
    await stock(titles);
    const given: ShelfGiven = { q, sort, limit: '2' };
    await market.catalog.fresh();
    const first = JSON.parse((await askOperation(market, addressOf(given))).text);
    await stock(added);
    const next = addressOf({ ...given, cursor: first.next_cursor });
    await expectSame(market, processOn(db.database, { clock }), [addressOf(given), next]);
    expect(JSON.parse((await askOperation(market, next)).text).listings.length).toBeGreaterThan(0);
  });
}

it('a row whose verified sales fall between two pages comes once', async () => {
  const seller = stage.sellers[0] ?? 0n;
  const ids = (await stock(numbered('Lantern', 4))).map(Number);
  const [oldest = 0, sold = 0, ...others] = ids;
  const payer = toHex(Buffer.alloc(20, 9));
  await seedPaidPurchase(db.database, BigInt(sold), { payer });
  const rest = [() => seedListing(db.database, seller, { title: 'Of that wallet', wallet: payer })];
  const { ids: seen, pages } = await walkShelves(
    market,
    { q: 'lantern ', limit: '1' },
    async () => void (await rest.shift()?.()),
  );
  expect(pages[0]?.listings[0]?.verified_sales).toBe(1);
  expect((await browsePage(market, { q: 'lantern ' })).listings.map(({ verified_sales }) => verified_sales)).toEqual([
    0, 0, 0, 0,
  ]);
  expect(seen).toEqual([sold, ...others.reverse(), oldest]);
});
