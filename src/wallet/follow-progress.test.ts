import { expect, it } from 'vitest';
import type { PaymentOut } from '../contract/payments.ts';
import { beginRecord, blocksToFinal, followProgress, type PurchaseRecord } from './purchase-record.ts';

const HASH = `0x${'a'.repeat(64)}`;

function payment(given: Partial<PaymentOut>): PaymentOut {
  return {
    ...{ id: 1, purpose: 'purchase', payment_status: 'payment_pending', stage: 'settling', listing_id: 7 },
    ...{ tx_hash: null, block_number: null, block_time: null, finalized_head: 90, payment_ends_at: null },
    ...{ next_step: '', do_not_pay_again: true, updated_at: '2026-01-01T00:00:00Z' },
    ...given,
  };
}

const mined = (block: number, head: number, stage: PaymentOut['stage'] = 'mined'): PaymentOut =>
  payment({ tx_hash: HASH, block_number: block, finalized_head: head, stage });

const next = (record: PurchaseRecord, given: PaymentOut, nowMs: number, estimateSeconds?: number): PurchaseRecord =>
  followProgress(
    record,
    {
      phase: 'pending',
      secondsWaited: 0,
      payment: given,
      ...(estimateSeconds === undefined ? {} : { estimateSeconds }),
    },
    nowMs,
  );

const SIGNED = followProgress(beginRecord('0xa', 1_000), { phase: 'signed', secondsWaited: 0 }, 2_000);

it('notes when each step was reached', () => {
  const seen = next(SIGNED, mined(100, 90), 5_000, 20);
  expect(seen).toMatchObject({ phase: 'paying', final_about: 25_000, at: { signed: 2_000, settled: 5_000 } });
  const final = next(seen, mined(100, 100, 'finalized'), 25_000);
  expect(final.at).toEqual({ begun: 1_000, signed: 2_000, settled: 5_000, final: 25_000 });
  const done = followProgress(final, { phase: 'delivered', secondsWaited: 25 }, 26_000);
  expect(done).toMatchObject({ phase: 'bought', at: { final: 25_000, delivered: 26_000 } });
});

it('counts the blocks from where finality stood when the transfer was first seen', () => {
  const first = next(SIGNED, mined(100, 90), 5_000);
  expect(blocksToFinal(first)).toEqual({ done: 0, of: 10 });
  expect(blocksToFinal(next(first, mined(100, 94), 6_000))).toEqual({ done: 4, of: 10 });
  expect(blocksToFinal(next(first, mined(100, 120), 7_000))).toEqual({ done: 10, of: 10 });
  expect(blocksToFinal(SIGNED)).toBeNull();
});

it('a transfer that is taken back is settled no more, and one in another block begins again', () => {
  const first = next(SIGNED, mined(100, 90), 5_000);
  const gone = next(first, payment({}), 8_000);
  expect([gone.transfer, gone.at.settled]).toEqual([null, undefined]);
  const moved = next(first, mined(103, 95), 9_000);
  expect([moved.at.settled, blocksToFinal(moved)]).toEqual([9_000, { done: 0, of: 8 }]);
});

it('an answer that says nothing of the payment changes nothing that is known of it', () => {
  const first = next(SIGNED, mined(100, 90), 5_000);
  expect(followProgress(first, { phase: 'submitted', secondsWaited: 3 }, 9_000)).toEqual(first);
});

it('a second signature, where one is allowed, begins the steps again', () => {
  const first = next(SIGNED, mined(100, 90), 5_000);
  const again = followProgress(first, { phase: 'signed', secondsWaited: 0 }, 50_000);
  expect([again.at, again.transfer]).toEqual([{ begun: 1_000, signed: 50_000 }, null]);
});
