import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { rotatedRounds, rotationPart } from '../suite/rotation.ts';
import type { ShelfGiven } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock, type TestMarket } from '../support/market-context.ts';
import { hideAllListings, seedStock } from '../support/seed.ts';
import { askOperation } from './ask.ts';
import { addressOf } from './random-shelves.ts';
import { openStage, processOn } from './stage.ts';

// Needs of up to 200 characters of any kind. Every other page is read in another process, which has the cursor from nowhere else.

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));
const LONGEST = 200;
const LONGEST_CURSOR = 2_048;

const CHARACTERS: Readonly<Record<string, readonly string[]>> = {
  letters: [...'abcdefgh', ' ', ' '],
  words: [...'abcdefghklm'].map((letter, at) => `${letter}${'zyxwv'.repeat(2).slice(at % 4)} `),
  signs: [...'ab  "" ++ -- .#*,;:!?/\\\'`\u201c\u201d\u00ab\u00bb\uff02'],
  umlauts: [...'\u00e4\u00f6\u00fc\u00f8\u00e5\u00dfab   '],
  chinese: [...'\u5730\u56f3\u9928\u66f8\u8a9e \u3002'],
  korean: [...'\ud55c\uad6d\uc5b4\uc0ac\ub78c '],
  rareChinese: ['\u{2000b}', '\u{2000c}', '\u5730', ' '],
  georgian: [...'\u10d0\u10d1\u10d2\u10d3\u10d4\u10d5 '],
  longGeorgian: [...'\u10d0\u10d1\u10d2\u10d3'].map((letter) => `${letter.repeat(11)} `),
  devanagari: [...'\u0915\u093f\u0924\u093e\u092c\u094d\u0930 '],
  arabic: [...'\u0643\u062a\u0627\u0628\u0629\u064e '],
  emoji: ['\u{1f600}', '\u{1f468}\u200d\u{1f469}', '\u{1f1e9}\u{1f1ea}', 'a', ' ', '-', '"'],
  marks: ['a\u0301\u0323', 'e\u0308', 'o\u0308', '\u200d', '\u00ad', '\u3099', ' '],
  halves: ['\ud83d', 'a', ' ', '\u5730'],
  names: ['front end ', 'to do ', 'c++ ', '.net ', 'node.js ', 'command line interface ', 'e mail ', '-', '+', '"'],
};
const pieces = fc
  .constantFrom(...Object.values(CHARACTERS), Object.values(CHARACTERS).flat())
  .chain((some) => fc.array(fc.constantFrom(...some), { minLength: 20, maxLength: LONGEST, size: 'max' }))
  .map((all) => all.join('').slice(0, LONGEST).toWellFormed());

const wordsOf = (text: string): string[] => text.split(/[\s"]+/).filter((word) => word !== '');

/** Changes some words in the same way each time, so that the nearest spelling is searched, and leaves out some. */
function listedWords(q: string, seed: number): string {
  const words = wordsOf(q).map((word, at) => {
    const characters = [...word];
    return at % 3 === 0 ? [...characters.slice(0, -1), 'a', ...characters.slice(-1)].join('') : word;
  });
  return words.filter((_, at) => (at * 7 + seed) % 4 !== 0).join(' ');
}

const plan = fc.record({
  q: pieces,
  isTitle: fc.boolean(),
  match: fc.constantFrom('any', 'any', 'any', 'all'),
  sort: fc.constantFrom('relevance', 'relevance', 'new', 'karma'),
  limit: fc.integer({ min: 1, max: 3 }),
});

interface Given {
  q: string;
  match: string;
  sort: string;
  limit: string;
}

/** Reads all pages of a walk, each in another process than the one before. Returns the longest cursor's length. */
async function walkInTurn(processes: readonly [TestMarket, TestMarket], given: Given): Promise<number> {
  for (const { catalog } of processes) {
    await catalog.fresh();
    await catalog.searchable();
  }
  const seen: number[] = [];
  const cursors: string[] = [];
  let total: number | null = null;
  for (let page = 0; page === 0 || cursors.length === page; page += 1) {
    const cursor = page === 0 ? {} : { cursor: cursors[page - 1] ?? '' };
    const address = addressOf({ ...given, ...cursor } as ShelfGiven);
    const body = JSON.parse((await askOperation(processes[page % 2 === 0 ? 0 : 1], address)).text);
    total ??= body.total;
    expect(body.total).toBe(total);
    seen.push(...body.listings.map(({ id }: { id: number }) => id));
    if (body.next_cursor !== null) cursors.push(body.next_cursor);
  }
  expect(seen).toHaveLength(total ?? 0);
  expect(new Set(seen).size).toBe(total);
  const longest = Math.max(0, ...cursors.map(({ length }) => length));
  expect(longest).toBeLessThanOrEqual(LONGEST_CURSOR);
  return longest;
}

let processes: [TestMarket, TestMarket];
let seller: bigint;
beforeAll(async () => {
  seller = (await openStage(db.database)).sellers[0] ?? 0n;
  processes = [processOn(db.database, { clock }), processOn(db.database, { clock })];
});

it('a need of any 200 characters is answered, its cursors may be sent, and its walk ends', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ q, isTitle, match, sort, limit }) => {
      fc.pre(q !== '');
      await hideAllListings(db.database);
      const stock = Array.from({ length: 7 }, (_, at) => ({
        title: at === 0 && isTitle ? q : `Goods ${at}`,
        description: `${listedWords(q, at)} .`,
      }));
      await seedStock(db.database, seller, stock);
      await walkInTurn(processes, { q, match, sort, limit: String(limit) });
    }),
    {
      numRuns: rotatedRounds(import.meta.filename, 150),
      seed: Number(process.env['WALK_SEED'] ?? 20_260_110 + rotationPart()),
    },
  );
}, 120_000);

const letters = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => String.fromCodePoint(first + at));
const GEORGIAN = letters(0x10d0, 33).join('');

/** Needs with the most words, weights and corrections, and the words that listings have. */
const LONG: Readonly<Record<string, { q: string; listed: string; least?: number }>> = {
  'four misspelled words of three bytes a letter': {
    q: [0, 1, 2, 3].map((at) => `${letters(0x10d0 + at, 1)[0]}${GEORGIAN}`.padEnd(49, 'a')).join(' '),
    listed: [0, 1, 2, 3].map((at) => `${letters(0x10d0 + at, 1)[0]}${GEORGIAN}`.padEnd(48, 'a').concat('zz')).join(' '),
    least: 600,
  },
  'a hundred words of one letter': {
    q: [...letters(0x61, 26), ...letters(0x3b1, 24), ...letters(0x430, 32), ...letters(0x5d0, 18)].join(' '),
    listed: [...letters(0x61, 26), ...letters(0x430, 32)].join(' '),
  },
  'a phrase of a hundred words': {
    q: `"${`${letters(0x61, 26).join(' ')} `.repeat(4)}`,
    listed: `${letters(0x61, 26).join(' ')} `.repeat(4),
  },
  'words with two spellings each': {
    q: letters(0x61, 26)
      .flatMap((letter) => [`\u00e4${letter}`, `\u00f6${letter}`])
      .join(' '),
    listed: letters(0x61, 26)
      .flatMap((letter) => [`ae${letter}`, `oe${letter}`])
      .join(' '),
  },
  'a run of two hundred characters without spaces': {
    q: letters(0x5730, 200).join(''),
    listed: letters(0x5730, 200).join(''),
  },
};

for (const [name, { q, listed, least = 60 }] of Object.entries(LONG)) {
  it(`${name} fit a cursor, in every sort`, async () => {
    const whole = q.slice(0, LONGEST);
    for (const sort of ['relevance', 'new', 'price_asc']) {
      await hideAllListings(db.database);
      const stock = Array.from({ length: 5 }, (_, at) => ({ title: `Goods ${at}`, description: `${listed} .` }));
      await seedStock(db.database, seller, stock);
      const longest = await walkInTurn(processes, { q: whole, match: 'any', sort, limit: '2' });
      expect(longest).toBeGreaterThan(least);
    }
  });
}
