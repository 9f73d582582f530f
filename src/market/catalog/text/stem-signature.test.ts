import fc from 'fast-check';
import { expect, it } from 'vitest';
import { giveWay } from '../../../platform/give-way.ts';
import { parseQuery } from './parse-query.ts';
import { mayHave, neededFor, SIGNATURE_WORDS } from './stem-signature.ts';
import { createTextIndex, type ListingText } from './text-index.ts';

const WORDS = [
  'lamp',
  'lamps',
  'lamplight',
  'map',
  'maps',
  'mapping',
  'mapper',
  'brass',
  'caf\u00e9',
  'na\u00efve',
  'io',
  '\u5730\u56f3',
];
const words = fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map((some) => some.join(' '));
const text = (description: string): ListingText => ({
  title: 'Goods',
  tags: [],
  merchant: 'seller',
  description,
  preview: '',
});

const typed = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.constantFrom(...WORDS).map((word) => `${word} `),
  fc.tuple(fc.constantFrom(...WORDS), fc.nat(9)).map(([word, length]) => word.slice(0, length)),
  fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(...WORDS)).map((pair) => `"${pair.join(' ')}"`),
  fc.constantFrom(...WORDS).map((word) => `goods -${word}`),
);

it('never says no of a text that matches, before or after a change', async () => {
  let matched = 0;
  let passedOver = 0;
  await fc.assert(
    fc.asyncProperty(words, words, fc.array(typed, { minLength: 1, maxLength: 3 }), async (before, after, some) => {
      const index = createTextIndex({ giveWay });
      const query = parseQuery(some.join(' '));
      const matches = async (): Promise<boolean> => {
        await index.prepare(query);
        const search = index.compile(query);
        if (search === null) throw new Error('it was prepared');
        return !search.matchesNothing && search.must.every(({ count }) => count > 0);
      };
      const seen: { signature: Uint32Array; matched: boolean }[] = [];
      let was = false;
      for (const act of [() => index.put(1, text(before)), () => index.put(1, text(after)), () => index.remove(1)]) {
        const signature = act()?.slice();
        const is = await matches();
        if (signature !== undefined) seen.push({ signature, matched: was || is });
        was = is;
      }
      for (const one of seen) {
        // Anywhere among others.
        const all = new Uint32Array(3 * SIGNATURE_WORDS);
        all.set(one.signature, SIGNATURE_WORDS);
        const may = mayHave(all, SIGNATURE_WORDS, neededFor(query));
        if (one.matched) {
          matched += 1;
          expect(may, `${JSON.stringify(some)} in ${JSON.stringify([before, after])}`).toBe(true);
        } else if (!may) passedOver += 1;
      }
    }),
    { seed: 20_261_121, numRuns: 400 },
  );
  // Neither is a matter of chance alone.
  expect(matched).toBeGreaterThan(100);
  expect(passedOver).toBeGreaterThan(300);
});

it('says yes of few among many words that are not there', () => {
  const index = createTextIndex({ giveWay });
  const long = Array.from({ length: 100 }, (_, at) => `w${at * 7919}x`).join(' ');
  const signature = index.put(1, text(long)) ?? new Uint32Array(SIGNATURE_WORDS);
  const asked = Array.from({ length: 1_000 }, (_, at) => neededFor(parseQuery(`z${at}other `)));
  expect(asked.filter((needed) => mayHave(signature, 0, needed)).length).toBeLessThan(200);
});
