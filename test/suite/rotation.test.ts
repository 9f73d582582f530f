import { expect, test } from 'vitest';
import { chooseCases, PARTS } from './rotation.ts';
import { touchedFiles } from './touched-files.ts';

const parts = Array.from({ length: PARTS }, (_, part) => String(part));

test.each([3, 4, 5, 71])('three builds in a row play each of %i cases once', (count) => {
  const cases = Array.from({ length: count }, (_, index) => index);
  const played = parts.map((part) => chooseCases(part, 'test/any.heavy.ts', cases));
  expect(played.flat().toSorted((a, b) => a - b)).toEqual(cases);
  for (const part of played) expect(part.length).toBeLessThanOrEqual(Math.ceil(count / PARTS));
});

test('families of the same size do not all play their longest part in the same build', () => {
  const sizes = ['a', 'b', 'c'].map((file) => chooseCases('0', file, [1, 2, 3, 4]).length);
  expect(sizes.toSorted()).toEqual([1, 1, 2]);
});

test('a file that the change touches is played whole, and so is each without a rotation', () => {
  expect(chooseCases('1 x.ts y.ts', 'y.ts', [1, 2, 3])).toEqual([1, 2, 3]);
  expect(chooseCases('all', 'y.ts', [1, 2, 3])).toEqual([1, 2, 3]);
  expect(chooseCases('1 x.ts', 'y.ts', [1, 2, 3])).toHaveLength(1);
});

test('a family of fewer than three cases is played whole, and an unknown part is refused', () => {
  expect(chooseCases('0', 'x.ts', [1, 2])).toEqual([1, 2]);
  expect(() => chooseCases('3', 'x.ts', [1, 2, 3])).toThrow('"3"');
});

test('a change touches the tests that import it, through their support files, and those about its folder', () => {
  const imports = [
    { from: 'test/world/kills-x402.heavy.ts', to: 'test/support/kill-runs.ts' },
    { from: 'test/support/kill-runs.ts', to: 'test/suite/rotation.ts' },
    { from: 'test/support/kill-runs.ts', to: 'src/platform/clock.ts' },
    { from: 'src/platform/clock.ts', to: 'src/platform/timer.ts' },
    { from: 'test/world/plain.heavy.ts', to: 'src/platform/clock.ts' },
  ];
  const kills = ['test/world/kills-x402.heavy.ts', 'test/support/kill-runs.ts'];
  expect(touchedFiles(imports, ['test/support/kill-runs.ts'])).toEqual(kills);
  expect(touchedFiles(imports, ['src/platform/clock.ts'])).toEqual(kills);
  expect(touchedFiles(imports, ['src/market/payments/chain/follow.ts'])).toEqual(kills.slice(0, 1));
  expect(touchedFiles(imports, ['src/platform/timer.ts', 'docs/buy.md', 'test/suite/rotation.ts'])).toEqual([]);
});
