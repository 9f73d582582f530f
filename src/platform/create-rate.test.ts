import { expect, it } from 'vitest';
import { createRate } from './counter.ts';

function stage() {
  const state = { now: 5_000, count: 17 };
  const clock = { now: () => state.now, sleep: async () => {} };
  const isOften = createRate({ clock, count: () => state.count, perSecond: 1_000, overMs: 100 });
  // The first call starts the interval.
  expect(isOften()).toBe(false);
  const after = (ms: number, more: number): boolean => {
    state.now += ms;
    state.count += more;
    return isOften();
  };
  return { after };
}

it('tells of the last stretch of time, whole', () => {
  const { after } = stage();
  expect(after(0, 500)).toBe(false);
  expect(after(99, 500)).toBe(false);
  expect(after(1, 0)).toBe(true);
  expect(after(99, 0)).toBe(true);
  expect(after(1, 0)).toBe(false);
  expect(after(200, 199)).toBe(false);
  expect(after(200, 200)).toBe(true);
});

it('takes what happened in a long time for seldom', () => {
  const { after } = stage();
  expect(after(60_000, 5_000)).toBe(false);
});

it('says no, and begins a new window, when the clock is put back', () => {
  const { after } = stage();
  expect(after(100, 1_000)).toBe(true);
  expect(after(-3_000, 1_000)).toBe(false);
  expect(after(50, 1_000)).toBe(false);
  expect(after(50, 0)).toBe(true);
});
