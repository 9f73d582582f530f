import { z } from 'zod';
import type { PaymentOut } from '../contract/payments.ts';
import type { Progress } from '../sdk/payments/payment-run.ts';

const ms = z.number();

/** Progress of a purchase, shared by this browser's tabs, and the data for showing the goods again. The token is a secret. */
export const purchaseRecord = z.object({
  version: z.literal(1),
  payer: z.string().nullable(),
  /** `asking`: nothing is signed. `paying`: a proof is stored. `bought`: delivered. */
  phase: z.enum(['asking', 'paying', 'bought']),
  at: z.object({
    begun: ms,
    signed: ms.optional(),
    settled: ms.optional(),
    final: ms.optional(),
    delivered: ms.optional(),
  }),
  /** Null until a transfer is seen. */
  transfer: z
    .object({
      tx_hash: z.string().regex(/^0x[0-9a-f]{64}$/),
      block: z.int().nullable(),
      /** Number of the latest final block when the transfer was first seen in its block. `head` is the number at the last update. */
      head_first: z.int().nullable(),
      head: z.int().nullable(),
    })
    .nullable(),
  /** Estimated time of finality, from the market. */
  final_about: ms.nullable(),
  /** Time since which the market has not answered. Null if it answers. */
  silent_since: ms.nullable(),
  token: z.string().nullable(),
  /** Slip from which a market that lost the purchase restores it. Missing in records of earlier versions. */
  recovery_slip: z.string().nullable().default(null),
  /** True if the buyer paid for an older version, so that no money moved. Missing in records of earlier versions. */
  nothing_due: z.boolean().default(false),
});
export type PurchaseRecord = z.output<typeof purchaseRecord>;

export function beginRecord(payer: string | null, nowMs: number): PurchaseRecord {
  return {
    version: 1,
    ...{ payer, phase: 'asking', at: { begun: nowMs }, transfer: null },
    ...{ final_about: null, silent_since: null, token: null, recovery_slip: null },
    nothing_due: false,
  };
}

/** Updates the record with new progress. Removes a transfer whose block was reorganized away. */
export function followProgress(record: PurchaseRecord, progress: Progress, nowMs: number): PurchaseRecord {
  const { phase, payment, estimateSeconds } = progress;
  const paying = { ...record, phase: 'paying' as const };
  switch (phase) {
    case 'signed':
      return { ...paying, at: { begun: record.at.begun, signed: nowMs }, transfer: null, final_about: null };
    case 'submitted':
    case 'pending': {
      const at = { ...record.at, signed: record.at.signed ?? nowMs };
      // The request was sent but not answered, so nothing new is known.
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
  const previous = record.transfer;
  const isSame = previous !== null && previous.tx_hash === tx_hash && previous.block === block;
  const settled = isSame ? (record.at.settled ?? nowMs) : nowMs;
  const isFinal = stage === 'finalized' || stage === 'delivered';
  return {
    ...record,
    at: { ...at, settled, ...(isFinal ? { final: record.at.final ?? nowMs } : {}) },
    transfer: { tx_hash, block, head_first: isSame ? previous.head_first : head, head },
  };
}

/** Counts the blocks up to the transfer's block, and how many of them are final. Null while unknown. */
export function blocksToFinal({ transfer }: PurchaseRecord): { done: number; of: number } | null {
  if (transfer === null) return null;
  const { block, head_first: first, head } = transfer;
  if (block === null || first === null || head === null) return null;
  const of = Math.max(1, block - first);
  return { done: Math.min(of, Math.max(0, head - first)), of };
}
