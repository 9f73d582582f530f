/** Runs the other half of the games, so that two cores share them, and the games with a market in a child process. */
import { expect, it } from 'vitest';
import { hostInChild } from '../model/host-in-child.ts';
import { hostHere } from '../model/market-host.ts';
import { playMany, RUNS } from './play-many.ts';

/** Number of runs in this process for each run in a child, because starting a process takes a hundred times longer. */
const RUNS_PER_RUN_IN_A_CHILD = 50;
const APART = 1_000_000;

it('the market does what the reference says, in the other half of the runs too', async () => {
  expect(await playMany(hostHere, Math.floor(RUNS / 2), APART)).toBeGreaterThan(0);
});

it('and so does one in a process of its own, which is killed for real', async () => {
  expect(await playMany(hostInChild, Math.ceil(RUNS / RUNS_PER_RUN_IN_A_CHILD))).toBeGreaterThan(0);
});
