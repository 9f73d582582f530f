import type { PaymentPurpose, PaymentWay } from '../../contract/vocabulary.ts';
import { type Hex, toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';

export type ReviewOutcome = 'deliver' | 'refunded' | 'declined';

interface AnyPayment {
  id: bigint;
  purpose: PaymentPurpose;
  status: PaymentStatus;
  listingId: bigint | null;
  merchantId: bigint | null;
  bodyHash: Buffer | null;
  chainId: bigint;
  asset: Hex;
  payee: Hex;
  payer: Hex;
  /** For x402 the exact value, for a direct transfer the minimum. */
  valueUnits: bigint;
  deliveryTokenHash: Buffer | null;
  payerCollectsOnly: boolean;
  txHash: Hex | null;
  blockNumber: bigint | null;
  blockTime: Date | null;
  /**
   * Log index of this payment's own transfer in `txHash`. Null while the payment is open, if there is none, or if it belongs to another
   * payment.
   */
  logIndex: number | null;
  endReason: string | null;
  /** Outcome of the review. Null without a review or until it ends. */
  reviewOutcome: ReviewOutcome | null;
  /** When the money may first have been on its way. */
  settlingAt: Date | null;
  createdAt: Date;
  /** When an edit of the listing stopped this payment before it was submitted. Null if none did. */
  stoppedAt: Date | null;
  /** Whether this payment sells nothing, usually because the buyer already had the goods. Its transfer can only be reviewed. */
  surplus: boolean;
  /** When the chain decided. A review comes later. */
  endedAt: Date | null;
  updatedAt: Date;
}

/** An authorization, permanently bound to the request that opened it. */
export interface X402Payment extends AnyPayment {
  path: 'x402';
  nonce: Hex;
  validAfter: bigint;
  validBefore: bigint;
  openedBlock: bigint;
  /** When the facilitator last listed its signers before this payment was opened. Null if it never did. */
  signersReadAt: Date | null;
}

export interface DirectPayment extends AnyPayment {
  path: 'direct';
  merchantId: bigint;
  /** 32 hex digits. */
  intentId: string;
  /** The transfer's block time must lie in [windowFrom, windowTo). */
  windowFrom: Date;
  windowTo: Date;
}

export type Payment = X402Payment | DirectPayment;

/** The merchant, which only some payment methods require, and the columns that only some methods fill. */
export interface MethodRow {
  merchant_id: bigint | null;
  nonce: Buffer | null;
  valid_after: bigint | null;
  valid_before: bigint | null;
  opened_block: bigint | null;
  signers_read_at: Date | null;
  intent_id: Buffer | null;
  window_from: Date | null;
  window_to: Date | null;
}

const IS_METHOD_COLUMN: Readonly<Record<keyof MethodRow, true>> = {
  merchant_id: true,
  nonce: true,
  valid_after: true,
  valid_before: true,
  opened_block: true,
  signers_read_at: true,
  intent_id: true,
  window_from: true,
  window_to: true,
};
export const METHOD_COLUMNS: readonly string[] = Object.keys(IS_METHOD_COLUMN);

type MethodFields<Way extends PaymentWay> = Omit<
  Extract<Payment, { path: Way }>,
  Exclude<keyof AnyPayment, 'merchantId'>
>;

/** Builds the method-specific fields from a row. Null if a column is missing. */
export const METHOD_FIELDS: { readonly [Way in PaymentWay]: (row: MethodRow) => MethodFields<Way> | null } = {
  x402: ({ nonce, valid_after: validAfter, valid_before: validBefore, opened_block: openedBlock, ...row }) =>
    nonce === null || validAfter === null || validBefore === null || openedBlock === null
      ? null
      : {
          ...{ path: 'x402', nonce: toHex(nonce), validAfter, validBefore, openedBlock },
          ...{ merchantId: row.merchant_id, signersReadAt: row.signers_read_at },
        },
  direct: ({ intent_id: intentId, window_from: windowFrom, window_to: windowTo, merchant_id: merchantId }) =>
    intentId === null || windowFrom === null || windowTo === null || merchantId === null
      ? null
      : { path: 'direct', merchantId, intentId: intentId.toString('hex'), windowFrom, windowTo },
};

export function isOpen(payment: Payment): boolean {
  return isOpenStatus(payment.status);
}

const MIN_RETRY_SECONDS = 2;

/** Builds the refusal for an undecided payment whose transfer is not on the chain yet. */
export function unseenRefusal(payment: Payment): Refusal {
  return payment.status === 'verifying'
    ? new Refusal('verification_pending', { retryAfterSeconds: MIN_RETRY_SECONDS })
    : new Refusal('settlement_pending', { retryAfterSeconds: MIN_RETRY_SECONDS });
}

/** Builds the refusal for a payment that an edit stopped. It ends unpaid when its authorization expires at `expiresAt` (ms). */
export function stoppedRefusal(expiresAt: number, now: number): Refusal {
  const retryAfterSeconds = Math.max(MIN_RETRY_SECONDS, Math.ceil((expiresAt - now) / 1000));
  return new Refusal('listing_changed', { retryAfterSeconds });
}

/**
 * Allowed steps of a payment; the trigger `payments_move_forward` enforces the same table. An x402 payment begins as `verifying`. A claim
 * begins as `settling`, because nothing needs verifying before its transfer may be on the chain. An ended payment never changes.
 */
export const PAYMENT_STEPS = {
  verifying: ['settling', 'completed', 'unpaid', 'needs_review'],
  settling: ['completed', 'unpaid', 'needs_review'],
  needs_review: ['completed', 'rejected'],
  completed: [],
  unpaid: [],
  rejected: [],
} as const;

export type PaymentStatus = keyof typeof PAYMENT_STEPS;
/** Statuses to which the chain alone can move a payment. */
export type ChainEnd = (typeof PAYMENT_STEPS)['settling'][number];

function mayStep(from: PaymentStatus, to: PaymentStatus): boolean {
  const next: readonly PaymentStatus[] = PAYMENT_STEPS[from];
  return next.includes(to);
}

/** Whether the chain has not decided yet and may still show that nothing was paid. */
export function isOpenStatus(status: PaymentStatus): boolean {
  return mayStep(status, 'unpaid');
}

export function hasEnded(status: PaymentStatus): boolean {
  return PAYMENT_STEPS[status].length === 0;
}

/**
 * Outcomes of an unsigned claim whose transfer counts for something else. `proven` means that the wallet itself signed later, `superseded`
 * that the payee delivered or refunded the transfer for another claim.
 */
const ELSEWHERE_OUTCOMES = ['proven', 'superseded'] as const;

/** Returns which of ELSEWHERE_OUTCOMES an unsigned claim had. Null if it had another outcome or is a payment. */
export function findElsewhereOutcome({ endReason }: Payment): (typeof ELSEWHERE_OUTCOMES)[number] | null {
  return ELSEWHERE_OUTCOMES.find((end) => end === endReason) ?? null;
}

/** Whether the payment has ended unpaid, refunded or declined. False for an unsigned claim whose transfer counts for something else. */
export function mayPayAgain(payment: Payment): boolean {
  return hasEnded(payment.status) && payment.status !== 'completed' && findElsewhereOutcome(payment) === null;
}
