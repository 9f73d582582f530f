import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listing } from '../../../../test/catalog/random-texts.ts';
import { rankedMatches } from '../../../../test/catalog/text-search.ts';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { parseQuery } from './parse-query.ts';
import { requireAll } from './resolve-query.ts';
import { createTextIndex } from './text-index.ts';

/** Any code point, lone surrogates included. */
const anyUnit = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));
const MARKS = ['"', '-', '+', ' ', '<b onclick="x">', '&lt;', '😀', '\u05e9\u05dc', '\u202e', '\ud800', '\udfff', 'ﷺ'];
const PARTS = [
  'run',
  'Art',
  '人',
  'x',
  'universi',
  'ma',
  '"run runs"',
  '%00',
  '\0',
  "'",
  '\\',
  '*',
  '(',
  ')',
  '\u0301',
];
const unit = fc.oneof(
  fc.constantFrom(...MARKS),
  fc.constantFrom(...PARTS, 'front end', 'ü', 'c++', '한국어', 'to do', ',', '-,*'),
  fc.string({ unit: anyUnit, maxLength: 20 }),
);
const query = fc.array(unit, { maxLength: 60 }).map((parts) => parts.join('').slice(0, 200));
const LISTINGS = 300;

function createFilledIndex() {
  const index = createTextIndex({ giveWay: async () => {} });
  for (const [at, text] of fc.sample(listing, { numRuns: LISTINGS, seed: 3 }).entries()) index.put(at + 1, text);
  return index;
}

describe('any query', () => {
  test('is parsed, resolved, prepared, compiled and ranked without an error and without delay', async () => {
    const index = createFilledIndex();
    const ids = Array.from({ length: LISTINGS }, (_, at) => at + 1);
    const slowest = { ms: 0, q: '' };
    await fc.assert(
      fc.asyncProperty(query, async (q) => {
        const before = process.cpuUsage();
        const parsed = parseQuery(q);
        for (const resolution of [index.resolve(parsed, null), requireAll(parsed)]) {
          await index.prepare(resolution);
          const search = index.compile(resolution);
          expect(search).not.toBeNull();
          expect(search && rankedMatches(search, ids).length).toBeLessThanOrEqual(LISTINGS);
          expect(index.resolve(parsed, resolution.choices).terms.length).toBeGreaterThanOrEqual(0);
        }
        // Processor time, because other work on the machine delays without end.
        const { user, system } = process.cpuUsage(before);
        const ms = (user + system) / 1_000;
        if (ms > slowest.ms) Object.assign(slowest, { ms, q });
      }),
      { numRuns: 500 },
    );
    expect(slowest.ms, slowest.q).toBeLessThan(500);
  });

  test('of nothing but one piece over and over is quick too', () => {
    const index = createFilledIndex();
    const pieces = [
      '"',
      '-',
      '-"',
      'a"',
      'ﷺ',
      '\u0301',
      '가',
      'x',
      '人',
      'a ',
      'run ',
      '"run"',
      '+',
      'front end ',
      'ü ',
    ];
    for (const piece of [...pieces, 'ab', 'runing ', '人 ', '-人 ', 'c++', '.net', 'command line ']) {
      const text = piece.repeat(200).slice(0, 200);
      expect(
        processorMs(() => index.compile(index.resolve(parseQuery(text), null))),
        piece,
      ).toBeLessThan(500);
    }
  });
});
