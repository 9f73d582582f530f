import { expect, it } from 'vitest';
import { createSingleFlight } from './background-jobs.ts';
import type { Clock } from './clock.ts';

it('gives all callers during a pass the next one, shared', async () => {
  const gates: PromiseWithResolvers<number>[] = [];
  const passes = createSingleFlight(() => {
    const gate = Promise.withResolvers<number>();
    gates.push(gate);
    return gate.promise;
  });
  const first = passes.fresh();
  const late = [passes.fresh(), passes.fresh(), passes.fresh()];
  expect(gates).toHaveLength(1);
  gates[0]?.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => gates.length).toBe(2);
  gates[1]?.resolve(2);
  expect(await Promise.all(late)).toEqual([2, 2, 2]);
  await passes.ended();
  expect(gates).toHaveLength(2);
});

it('fails those of the failed pass only', async () => {
  let count = 0;
  const passes = createSingleFlight(async () => {
    count += 1;
    if (count === 1) throw new Error('the first fails');
    return count;
  });
  const [first, second] = [passes.fresh(), passes.fresh()];
  await expect(first).rejects.toThrow('the first fails');
  expect(await second).toBe(2);
});

/** A clock that advances only by `sleep` or `pass`. */
function createManualClock() {
  let now = 1_000_000;
  const clock: Clock = {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
  };
  const pass = (ms: number): void => {
    now += ms;
  };
  return { clock, pass };
}

it('lets some pass at once, then one in each stretch of time; a rest makes up for it', async () => {
  const { clock, pass } = createManualClock();
  const begun: number[] = [];
  const start = clock.now();
  const passes = createSingleFlight(async () => void begun.push(clock.now() - start), {
    clock,
    everyMs: 20,
    atOnce: 3,
  });
  for (let turn = 0; turn < 6; turn += 1) await passes.fresh();
  expect(begun).toEqual([0, 0, 0, 20, 40, 60]);
  pass(40);
  for (let turn = 0; turn < 3; turn += 1) await passes.fresh();
  expect(begun.slice(6)).toEqual([100, 100, 120]);
  pass(1_000);
  for (let turn = 0; turn < 4; turn += 1) await passes.fresh();
  expect(begun.slice(9)).toEqual([1_120, 1_120, 1_120, 1_140]);
});

it('gives all callers during a pause the next pass, shared', async () => {
  const sleeping: PromiseWithResolvers<void>[] = [];
  const clock: Clock = {
    now: () => 0,
    sleep: () => {
      const gate = Promise.withResolvers<void>();
      sleeping.push(gate);
      return gate.promise;
    },
  };
  let count = 0;
  const passes = createSingleFlight(async () => ++count, { clock, everyMs: 20, atOnce: 1 });
  expect(await passes.fresh()).toBe(1);
  const late = [passes.fresh(), passes.fresh(), passes.fresh()];
  expect([count, sleeping.length]).toEqual([1, 1]);
  sleeping[0]?.resolve();
  expect(await Promise.all(late)).toEqual([2, 2, 2]);
});

it('makes no caller wait for longer than one pause when the clock stands still or is put back', async () => {
  let now = 1_000_000;
  const waits: number[] = [];
  const clock: Clock = {
    now: () => now,
    sleep: async (ms) => void waits.push(ms),
  };
  const passes = createSingleFlight(async () => {}, { clock, everyMs: 20, atOnce: 2 });
  for (let turn = 0; turn < 10; turn += 1) await passes.fresh();
  now = 0;
  for (let turn = 0; turn < 10; turn += 1) await passes.fresh();
  expect(Math.max(...waits)).toBe(20);
});

it('at times lets each pass wait for longer, and none go without a pause; afterwards it is as before', async () => {
  const { clock, pass } = createManualClock();
  const begun: number[] = [];
  const start = clock.now();
  let isNow = false;
  const atTimes = { everyMs: 150, now: () => isNow };
  const pace = { clock, everyMs: 20, atOnce: 3, atTimes };
  const passes = createSingleFlight(async () => void begun.push(clock.now() - start), pace);
  await passes.fresh();
  isNow = true;
  for (let turn = 0; turn < 4; turn += 1) await passes.fresh();
  expect(begun).toEqual([0, 20, 170, 320, 470]);
  pass(1_000);
  for (let turn = 0; turn < 2; turn += 1) await passes.fresh();
  expect(begun.slice(5)).toEqual([1_470, 1_620]);
  isNow = false;
  for (let turn = 0; turn < 4; turn += 1) await passes.fresh();
  expect(begun.slice(7)).toEqual([1_640, 1_660, 1_680, 1_700]);
});
