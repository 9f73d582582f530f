import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forEachMember } from '../sets/posting.ts';
import { parseQuery } from './parse-query.ts';
import { requireAll } from './resolve-query.ts';
import { createTextIndex, type ListingText, type ReadTokens, type TextIndex } from './text-index.ts';
import { createReaderWords, createTextReader, learnWords, type TextsToRead } from './text-reader.ts';

// Frequent words, shared stems, folded letters, variants, ideographs, and punctuation that JSON escapes.
const WORDS = [
  'lamp',
  'lamps',
  'map',
  'Caf\u00e9',
  'cafe',
  'brass',
  'front end',
  'C++',
  'a"b\\c',
  '\u5730\u56f3',
  '\u{1f600}',
  'x'.repeat(70),
  '\n',
  '',
];
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map((words) => words.join(' '));
const listing: fc.Arbitrary<ListingText> = fc.record({
  title: text,
  tags: fc.array(fc.constantFrom('sea-map', 'lamp', 'red'), { maxLength: 3 }),
  keywords: fc.array(fc.constantFrom('front end', 'lamp', 'M\u00fcll'), { maxLength: 2 }),
  merchant: fc.constantFrom('lamp-house', 'red-atlas'),
  description: text,
  preview: text,
});
const LISTINGS = 12;
const QUERIES = [
  'frontend ',
  'muell ',
  'lamp ',
  'map ',
  'cafe ',
  'brass ',
  '\u5730\u56f3',
  'house ',
  '"lamp map"',
  `${'x'.repeat(64)} `,
];

async function stateOf(index: TextIndex): Promise<unknown> {
  const found: unknown[] = [];
  for (const asked of QUERIES) {
    const query = requireAll(parseQuery(asked));
    await index.prepare(query);
    const members: number[] = [];
    for (const posting of index.compile(query)?.must ?? []) {
      forEachMember(posting, (id, level) => members.push(id, level));
      members.push(0);
    }
    found.push(members);
  }
  return { found, listings: index.listings(), terms: index.terms() };
}

const giveWay = async (): Promise<void> => {};

interface Batch {
  texts: (ListingText | null)[];
  /** First id of the batch. */
  first: number;
  /** Ids removed from both indexes between reading and putting. Removal frees word numbers. */
  removed: number[];
}

const batch: fc.Arbitrary<Batch> = fc.record({
  texts: fc.array(fc.option(listing), { minLength: 1, maxLength: LISTINGS }),
  first: fc.integer({ min: 1, max: 4 }),
  removed: fc.array(fc.integer({ min: 1, max: LISTINGS + 4 }), { maxLength: 6 }),
});

function asSent(texts: Batch['texts']): TextsToRead {
  const parts = texts.map((one) => Buffer.from(one === null ? '' : JSON.stringify(one)));
  let end = 0;
  const ends = new Uint32Array(parts.length);
  for (const [at, part] of parts.entries()) {
    end += part.length;
    ends[at] = end;
  }
  return { bytes: new Uint8Array(Buffer.concat(parts)), ends };
}

function putBoth(
  elsewhere: TextIndex,
  here: TextIndex,
  { texts, first }: Batch,
  read: Omit<ReadTokens, 'from' | 'to'> & { ends: Uint32Array },
): void {
  for (const [at, one] of texts.entries()) {
    if (one === null) continue;
    elsewhere.putRead(first + at, { ...read, from: read.ends[at - 1] ?? 0, to: read.ends[at] ?? 0 });
    here.put(first + at, one);
  }
}

test('an index of words that were found elsewhere is the one of words found here, whatever leaves it in between', async () => {
  const batches = fc.array(batch, { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(batches, async (given) => {
      const read = createTextReader();
      const words = createReaderWords();
      const [elsewhere, here] = [createTextIndex({ giveWay }), createTextIndex({ giveWay })];
      for (const one of given) {
        const { answer } = read(asSent(one.texts));
        learnWords(words, answer.newWords);
        for (const id of one.removed) for (const index of [elsewhere, here]) index.remove(id);
        putBoth(elsewhere, here, one, { ...answer, words });
        expect(await stateOf(elsewhere)).toEqual(await stateOf(here));
      }
    }),
    { numRuns: 150, seed: 20_260_120 },
  );
});
