import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSet, termsOf } from '../../../../test/catalog/random-sets.ts';
import { countTerms, hasAtLeast, hasExactly, MOST_TERMS, type TermSets } from './coverage.ts';
import type { Posting } from './posting.ts';

const shape = fc.record({
  seed: fc.integer({ min: 1, max: 1e9 }),
  share: fc.constantFrom(0, 0.01, 0.3, 0.9, 1),
  start: fc.constantFrom(0, 0, 0.6),
  end: fc.constantFrom(1, 1, 0.4),
  levels: fc.constantFrom(1, 7),
});
const situation = fc
  .record({
    universe: fc.constantFrom(31, 32, 500, 9_000),
    shapes: fc.array(shape, { minLength: 5, maxLength: 5 }),
    terms: fc.array(fc.array(fc.nat(4), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: MOST_TERMS }),
  })
  .map(({ universe, shapes, terms }) => {
    const sets = shapes.map((one) => createSet(one, universe));
    return { universe, terms: terms.map((term) => term.map((at) => sets[at] as Posting)) };
  });

function check(terms: readonly TermSets[], universe: number): void {
  const coverage = countTerms(terms);
  expect(coverage.terms).toBe(terms.length);
  const isSet = (bits: number, id: number): boolean => ((bits >>> (id & 31)) & 1) === 1;
  for (let id = 1; id <= universe + 70; id += 1) {
    const count = termsOf(terms, id);
    const word = id >>> 5;
    for (const asked of [0, 1, count - 1, count, count + 1, terms.length]) {
      if (asked < 0) continue;
      if (isSet(hasAtLeast(coverage, word, asked), id) !== count >= asked) expect.fail(`${id} has ${count}: ${asked}`);
      if (isSet(hasExactly(coverage, word, asked), id) !== (count === asked)) expect.fail(`${id} is not ${asked}`);
    }
  }
}

test('each id has as many terms as there are terms with a set that it is in', () => {
  fc.assert(
    fc.property(fc.array(situation, { minLength: 1, maxLength: 3 }), (all) => {
      // Count one after the other, because all share memory.
      for (const { terms, universe } of all) check(terms, universe);
    }),
    { numRuns: 25 },
  );
});

test('the most terms are counted, and a smaller count afterwards sees nothing of them', () => {
  const universe = 2_000;
  const all = createSet({ seed: 1, share: 1, start: 0, end: 1, levels: 1 }, universe);
  const few = createSet({ seed: 2, share: 0.01, start: 0, end: 1, levels: 1 }, universe);
  check(
    Array.from({ length: MOST_TERMS }, () => [all]),
    universe,
  );
  check([[few], [few, all]], universe);
  check([[few]], universe);
});
