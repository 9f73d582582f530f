import { z } from 'zod';
import type { PaymentOut } from '../contract/payments.ts';
import type { Progress } from '../sdk/payments/payment-run.ts';

const ms = z.number();

/** How far a purchase has come, for every tab of this browser, and what is needed to read the goods again. The token is a secret. */
export const purchaseRecord = z.object({
  version: z.literal(1),
  payer: z.string().nullable(),
  /** `asking`: nothing is signed. `paying`: a proof is kept. `bought`: delivered. */
  phase: z.enum(['asking', 'paying', 'bought']),
  at: z.object({
    begun: ms,
    signed: ms.optional(),
    settled: ms.optional(),
    final: ms.optional(),
    delivered: ms.optional(),
  }),
  /** Where the transfer stands, as far as one is seen. */
  transfer: z
    .object({
      tx_hash: z.string().regex(/^0x[0-9a-f]{64}$/),
      block: z.int().nullable(),
      /** The last final block when the transfer was first seen in this block, and now. */
      head_first: z.int().nullable(),
      head: z.int().nullable(),
    })
    .nullable(),
  /** When it should be final, by the market's guess. */
  final_about: ms.nullable(),
  /** Since when no answer comes. */
  silent_since: ms.nullable(),
  token: z.string().nullable(),
  /** By which a market that has lost the purchase takes it back. Missing in what earlier versions kept. */
  recovery_slip: z.string().nullable().default(null),
  /** The goods came with an older version that was bought: no money moved. Missing in what earlier versions kept. */
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
