import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rotatedRounds, rotationPart } from '../suite/rotation.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import { hideAllListings, seedStock } from '../support/seed.ts';
import { askOperation } from './ask.ts';
import { addressOf } from './random-shelves.ts';
import { openStage, processOn } from './stage.ts';

// Needs of up to 200 characters of any kind. Every other page is read in another process, which has the cursor from nowhere else.

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));
const LONGEST = 200;
const LONGEST_CURSOR = 1_024;

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

it('a need of any 200 characters is answered, its cursors may be sent, and its walk ends', async () => {
  const { database } = db;
  const stage = await openStage(database);
  const [one, other] = [processOn(database, { clock }), processOn(database, { clock })];
  let longest = 0;
  await fc.assert(
    fc.asyncProperty(plan, async ({ q, isTitle, match, sort, limit }) => {
      fc.pre(q !== '');
      await hideAllListings(database);
      const stock = Array.from({ length: 7 }, (_, at) => ({
        title: at === 0 && isTitle ? q : `Goods ${at}`,
        description: `${listedWords(q, at)} .`,
      }));
      await seedStock(database, stage.sellers[0] ?? 0n, stock);
      for (const { catalog } of [one, other]) {
        await catalog.fresh();
        await catalog.searchable();
      }
      const given = { q, match, sort, limit: String(limit) };
      const seen: number[] = [];
      let total = 0;
      let cursor: string | null = null;
      for (let page = 0; page === 0 || cursor !== null; page += 1) {
        const address: string = addressOf({ ...given, ...(cursor === null ? {} : { cursor }) } as never);
        const said = await askOperation(page % 2 === 0 ? one : other, address);
        const body = JSON.parse(said.text);
        if (page === 0) total = body.total;
        expect(body.total).toBe(total);
        seen.push(...body.listings.map(({ id }: { id: number }) => id));
        cursor = body.next_cursor;
        longest = Math.max(longest, cursor?.length ?? 0);
        expect(cursor?.length ?? 0).toBeLessThanOrEqual(LONGEST_CURSOR);
      }
      expect(seen).toHaveLength(total);
      expect(new Set(seen).size).toBe(total);
    }),
    {
      numRuns: rotatedRounds(import.meta.filename, 150),
      seed: Number(process.env['WALK_SEED'] ?? 20_260_110 + rotationPart()),
    },
  );
  expect(longest).toBeGreaterThan(250);
}, 120_000);
