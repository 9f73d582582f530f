import { expect, test } from 'vitest';
import { paymentRecord } from '../../test/support/market-answers.ts';
import type { Progress } from '../sdk/payments/payment-run.ts';
import { progressLine, progressNotes } from './open-wallet-session.ts';

const payment = { ...paymentRecord(), block_number: 1_000, finalized_head: 400 };

test.each<[Progress, string | RegExp | null]>([
  [{ phase: 'signed', secondsWaited: 0 }, /^signed and saved/],
  [
    { phase: 'submitted', secondsWaited: 3, reason: 'settlement_pending' },
    /no transfer seen yet \(settlement_pending\)$/,
  ],
  [{ phase: 'pending', secondsWaited: 9, payment, estimateSeconds: 1_200 }, /: 600 blocks to go, about 20 min$/],
  [{ phase: 'pending', secondsWaited: 9, payment, estimateSeconds: 40 }, /: 600 blocks to go, about 40 s$/],
  [{ phase: 'pending', secondsWaited: 9 }, /waiting for it to become final$/],
  [{ phase: 'pending', secondsWaited: 9, payment: { ...payment, finalized_head: 1_001 } }, /: 0 blocks to go$/],
  [{ phase: 'pending', secondsWaited: 9, payment: { ...payment, finalized_head: 999 } }, /: 1 block to go$/],
  [{ phase: 'collecting', secondsWaited: 9 }, /no money moves/],
  [{ phase: 'delivered', secondsWaited: 9 }, null],
])('%j', (progress, expected) => {
  if (expected === null) expect(progressLine(progress)).toBeNull();
  else expect(progressLine(progress)).toMatch(expected);
});

test('the same is not said twice in a row', () => {
  const notes: string[] = [];
  const onProgress = progressNotes({ note: (line) => notes.push(String(line)) });
  const pending = { phase: 'pending', secondsWaited: 1, payment } as const;
  for (const progress of [pending, pending, { ...pending, payment: { ...payment, finalized_head: 500 } }])
    onProgress(progress);
  expect(notes.map((line) => /\d+ blocks/.exec(line)?.[0])).toEqual(['600 blocks', '500 blocks']);
});
