import { expect, test } from 'vitest';
import { rarityWeight, termLevel } from './term-levels.ts';

test('a level grows with the word and falls with the length, from 1 to 7', () => {
  for (let length = 1; length < 1_500; length += 37) {
    for (let count = 1; count < 30; count += 1) {
      const level = termLevel(count, length);
      expect(level).toBeGreaterThanOrEqual(1);
      expect(level).toBeLessThanOrEqual(7);
      expect(termLevel(count + 1, length)).toBeGreaterThanOrEqual(level);
      expect(termLevel(count, length + 37)).toBeLessThanOrEqual(level);
    }
  }
  expect([1, 2, 3, 6].map((count) => termLevel(count, 150))).toEqual([3, 5, 6, 7]);
  expect([termLevel(1, 1_500), termLevel(40, 20)]).toEqual([1, 7]);
});

test('a rare word weighs more than a common one, and each weighs something', () => {
  const weights = [1, 10, 1_000, 500_000, 1_000_000].map((having) => rarityWeight(1_000_000, having));
  expect(weights).toEqual(weights.toSorted((a, b) => b - a));
  expect(weights.at(-1)).toBe(1);
  expect(weights.every(Number.isInteger)).toBe(true);
});
