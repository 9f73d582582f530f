import { expect, it } from 'vitest';
import { beginRecord, type PurchaseRecord } from '../purchase-record.ts';
import { describeEstimate, formatDuration } from '../wording.ts';
import { isPaid, planSteps } from './show-purchase.ts';

const BEGUN = beginRecord('0xa', 1_000);
const SIGNED: PurchaseRecord = { ...BEGUN, phase: 'paying', at: { begun: 1_000, signed: 3_000 } };
const SETTLED: PurchaseRecord = {
  ...SIGNED,
  at: { begun: 1_000, signed: 3_000, settled: 9_000 },
  transfer: { tx_hash: `0x${'a'.repeat(64)}`, block: 100, head_first: 62, head: 74 },
  final_about: 700_000,
};

const lines = (record: PurchaseRecord, nowMs: number): string[] =>
  planSteps(record, nowMs).map(({ name, state, says }) => `${state}: ${name}, ${says}`);

it('says of each step what is so', () => {
  expect(lines(BEGUN, 2_000)[0]).toBe('now: Signed, waits for you');
  expect(lines(SIGNED, 5_000).slice(1)).toEqual([
    'now: Settled, under way for 2 s',
    'later: Final, to come',
    'later: Delivered, to come',
  ]);
  expect(lines(SETTLED, 100_000).slice(1, 3)).toEqual([
    'done: Settled, took 6 s',
    'now: 12 of 38 blocks to final, for 1 min 31 s, about 10 minutes left',
  ]);
  const done: PurchaseRecord = {
    ...SETTLED,
    phase: 'bought',
    at: { ...SETTLED.at, final: 600_000, delivered: 601_000 },
  };
  expect(lines(done, 9e9).slice(2)).toEqual(['done: Final, took 9 min 51 s', 'done: Delivered, took 1 s']);
});

it('paid is who has a transfer that is seen, or the goods for a wallet’s money', () => {
  expect([isPaid(null), isPaid(BEGUN), isPaid(SIGNED)]).toEqual([false, false, false]);
  expect(isPaid(SETTLED)).toBe(true);
  expect(isPaid({ ...BEGUN, phase: 'bought' })).toBe(true);
  expect(isPaid({ ...BEGUN, phase: 'bought', payer: null })).toBe(false);
  expect(isPaid({ ...BEGUN, phase: 'bought', nothing_due: true })).toBe(false);
});

it('times read like times', () => {
  expect([0, 7_400, 60_000, 80_000, 3_600_000, 3_900_000].map(formatDuration)).toEqual([
    ...['0 s', '7 s', '1 min', '1 min 20 s', '1 h', '1 h 5 min'],
  ]);
  expect([3_000, 60_000, 1_200_000].map(describeEstimate)).toEqual([
    'a few seconds',
    'about a minute',
    'about 20 minutes',
  ]);
});
