import { expect, test } from 'vitest';
import type { Clock } from '../../platform/clock.ts';
import { createGasBudget, DEFAULT_LIMITS, type Limits, type Reserved } from './gas-budget.ts';

const HOUR_MS = 3_600_000;
const GAS = 10_000n;
/** A settlement by an unknown wallet without code. */
const NEWCOMER = { hasCode: false, payerKnown: false, payeeKnown: false, isCheap: false, units: GAS };
const CHEAP = { ...NEWCOMER, isCheap: true };

function budgetOf(limits: Partial<Limits>) {
  let now = 1_000_000;
  const clock: Clock = { now: () => now, sleep: async () => {} };
  const inFlight: Reserved[] = [];
  const budget = createGasBudget({
    limits: { ...DEFAULT_LIMITS, ...limits },
    clock,
    losses: [],
    inFlight: () => inFlight,
  });
  return {
    ...budget,
    begin: (units: bigint, isCheap: boolean): void =>
      void inFlight.push({ pool: 'plain', reservedUnits: units, isCheap }),
    cost: (units: bigint, isSale: boolean): void => budget.addLoss({ at: now, pool: 'plain', units, isSale }),
    later: (ms: number): void => {
      now += ms;
    },
  };
}

test('the least price is what the gas costs, and 20 times that once cheap sales and reverts have used up seven eighths of an hour', () => {
  const budget = budgetOf({ gas_loss_hour_units: 120_000 });
  expect(budget.leastPrice(GAS)).toBe(GAS);
  budget.cost(60_000n, false);
  budget.cost(35_000n, true);
  expect(budget.leastPrice(GAS)).toBe(GAS);
  budget.cost(1n, true);
  expect(budget.leastPrice(GAS)).toBe(20n * GAS);
  budget.later(HOUR_MS);
  expect(budget.leastPrice(GAS)).toBe(GAS);
});

test('the day bounds them as well', () => {
  const budget = budgetOf({ gas_loss_day_units: 100_000 });
  budget.cost(100_000n, true);
  budget.later(2 * HOUR_MS);
  expect(budget.leastPrice(GAS)).toBe(20n * GAS);
  budget.later(22 * HOUR_MS);
  expect(budget.leastPrice(GAS)).toBe(GAS);
});

test('cheap sales in flight raise the least price as well, and others do not', () => {
  const budget = budgetOf({ gas_loss_hour_units: 100_000 });
  budget.begin(90_000n, false);
  expect(budget.leastPrice(GAS)).toBe(GAS);
  budget.begin(80_000n, true);
  expect(budget.leastPrice(GAS)).toBe(20n * GAS);
});

test('no further cheap sale is begun once the gas of cheap ones, reverts and what is in flight of them has used up an hour', () => {
  const budget = budgetOf({ gas_loss_hour_units: 100_000 });
  for (let n = 0; n < 6; n += 1) budget.cost(GAS, true);
  budget.later(600_000);
  budget.cost(GAS, false);
  budget.begin(2n * GAS, true);
  expect(budget.findPool(CHEAP)).toEqual({ pool: 'plain' });
  budget.begin(GAS, true);
  // Room returns when the first cheap sale is an hour old. Known wallets are limited too.
  expect(budget.findPool(CHEAP)).toEqual({ retryAfterSeconds: 3_000 });
  expect(budget.findPool({ ...CHEAP, payerKnown: true, payeeKnown: true })).toEqual({ retryAfterSeconds: 3_000 });
  expect(budget.findPool(NEWCOMER)).toEqual({ pool: 'plain' });
  budget.later(3_000_000);
  expect(budget.findPool(CHEAP)).toEqual({ pool: 'plain' });
});

test('the day bounds cheap sales too', () => {
  const budget = budgetOf({ gas_loss_day_units: 100_000 });
  budget.cost(100_000n, true);
  budget.later(2 * HOUR_MS);
  expect(budget.findPool(CHEAP)).toEqual({ retryAfterSeconds: 22 * 3_600 });
  expect(budget.findPool(NEWCOMER)).toEqual({ pool: 'plain' });
});

test('however many cheap sales there were, they take nothing from any pool', () => {
  const budget = budgetOf({ gas_loss_hour_units: 100_000 });
  for (let n = 0; n < 100; n += 1) budget.cost(GAS, true);
  expect(budget.findPool(NEWCOMER)).toEqual({ pool: 'plain' });
  expect(budget.findPool({ ...NEWCOMER, hasCode: true })).toEqual({ pool: 'contract' });
  const levels = budget.levels().filter(({ window }) => window === 'hour');
  expect(levels.map(({ pool, used }) => [pool, used])).toEqual([
    ['all', 0n],
    ['contract', 0n],
    ['plain', 0n],
    ['payee', 0n],
    ['known', 0n],
    ['sales', 100n * GAS],
  ]);
  // Unlike cheap sales, reverts count against the pools.
  budget.cost(50_000n, false);
  expect(budget.findPool(NEWCOMER)).toEqual({ retryAfterSeconds: 3_600 });
});
