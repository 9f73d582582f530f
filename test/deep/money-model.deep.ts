/** Runs test/model/money-model.heavy.ts with many more runs, half of them here. Its notes on replaying a run apply here. */
import { expect, it } from 'vitest';
import { hostHere } from '../model/market-host.ts';
import { playMany, RUNS } from './play-many.ts';

it('the market does what the reference says', async () => {
  expect(await playMany(hostHere, Math.ceil(RUNS / 2))).toBeGreaterThan(0);
});
