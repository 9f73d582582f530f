import type { PaymentOut } from '../../contract/payments.ts';
import type { Progress } from '../../sdk/payments/progress.ts';
import type { PurchaseRecord } from './purchase-record.ts';

/** The record after the next word about the payment. A transfer that was taken back with its block is taken back here too. */
export function followProgress(record: PurchaseRecord, progress: Progress, nowMs: number): PurchaseRecord {
  const { phase, payment, estimateSeconds } = progress;
  const paying = { ...record, phase: 'paying' as const };
  switch (phase) {
    case 'signed':
      return { ...paying, at: { begun: record.at.begun, signed: nowMs }, transfer: null, final_about: null };
    case 'submitted':
    case 'pending': {
      const at = { ...record.at, signed: record.at.signed ?? nowMs };
      // Sent and not answered: nothing new is known.
      if (payment === undefined) return { ...paying, at };
      const about = estimateSeconds === undefined ? null : nowMs + estimateSeconds * 1_000;
      return withPayment({ ...paying, at, final_about: about }, payment, nowMs);
    }
    case 'collecting':
      return { ...paying, at: { ...record.at, settled: record.at.settled ?? nowMs, final: record.at.final ?? nowMs } };
    case 'delivered': {
      const settled = record.at.settled ?? nowMs;
      const at = { ...record.at, settled, final: record.at.final ?? nowMs, delivered: nowMs };
      return { ...record, phase: 'bought', at, final_about: null, silent_since: null };
    }
  }
}

function withPayment(record: PurchaseRecord, payment: PaymentOut, nowMs: number): PurchaseRecord {
  const { tx_hash, block_number: block, finalized_head: head, stage } = payment;
  const { settled: _settled, final: _final, ...at } = record.at;
  if (tx_hash === null || block === null) return { ...record, at, transfer: null };
  const before = record.transfer;
  const isSame = before !== null && before.tx_hash === tx_hash && before.block === block;
  const settled = isSame ? (record.at.settled ?? nowMs) : nowMs;
  const isFinal = stage === 'finalized' || stage === 'delivered';
  return {
    ...record,
    at: { ...at, settled, ...(isFinal ? { final: record.at.final ?? nowMs } : {}) },
    transfer: { tx_hash, block, head_first: isSame ? before.head_first : head, head },
  };
}

/** How many blocks have become final on the way to the transfer's own, of how many. Null while that is not known. */
export function blocksToFinal({ transfer }: PurchaseRecord): { done: number; of: number } | null {
  if (transfer === null) return null;
  const { block, head_first: first, head } = transfer;
  if (block === null || first === null || head === null) return null;
  const of = Math.max(1, block - first);
  return { done: Math.min(of, Math.max(0, head - first)), of };
}
