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
  /** The exact value for x402; the least value for a direct transfer. */
  valueUnits: bigint;
  deliveryTokenHash: Buffer | null;
  payerCollectsOnly: boolean;
  txHash: Hex | null;
  blockNumber: bigint | null;
  blockTime: Date | null;
  /** Log index of this payment's own transfer in `txHash`. Null if there is none, and if the transfer belongs to another payment. */
  logIndex: number | null;
  endReason: string | null;
  /** Outcome of the review; null if there was none or it has not ended. */
  reviewOutcome: ReviewOutcome | null;
  /** Time from which the money may have been on its way. */
  settlingAt: Date | null;
  createdAt: Date;
  /** Time when an edit of the listing stopped this payment before it was submitted; null if none did. */
  stoppedAt: Date | null;
  /** The buyer had the goods already, so the transfer can only be reviewed. */
  surplus: boolean;
  /** Time when the chain decided; a review comes later. */
  endedAt: Date | null;
  updatedAt: Date;
}

/** An authorization, bound for ever to the request that opened it. */
export interface X402Payment extends AnyPayment {
  path: 'x402';
  nonce: Hex;
  validAfter: bigint;
  validBefore: bigint;
  openedBlock: bigint;
  /** Time of the facilitator's last list of signers before this payment was opened; null: it gave none. */
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

/** Columns that only some ways to pay fill, and the merchant, which only some ways need. */
export interface OwnRow {
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

const OWN: Readonly<Record<keyof OwnRow, true>> = {
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
export const OWN_COLUMNS: readonly string[] = Object.keys(OWN);

type OwnFields<Way extends PaymentWay> = Omit<Extract<Payment, { path: Way }>, Exclude<keyof AnyPayment, 'merchantId'>>;

/** Builds the fields of one way to pay from a row; null if a column is missing. */
export const OWN_FIELDS: { readonly [Way in PaymentWay]: (row: OwnRow) => OwnFields<Way> | null } = {
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

const LEAST_RETRY_SECONDS = 2;

/** Refusal for an undecided payment while the chain shows no transfer for it. */
export function unseenRefusal(payment: Payment): Refusal {
  return payment.status === 'verifying'
    ? new Refusal('verification_pending', { retryAfterSeconds: LEAST_RETRY_SECONDS })
    : new Refusal('settlement_pending', { retryAfterSeconds: LEAST_RETRY_SECONDS });
}

/** Refusal for a payment that an edit stopped: it is never submitted, and ends unpaid at `expiresAt` (ms), with its authorization. */
export function stoppedRefusal(expiresAt: number, now: number): Refusal {
  const retryAfterSeconds = Math.max(LEAST_RETRY_SECONDS, Math.ceil((expiresAt - now) / 1000));
  return new Refusal('listing_changed', { retryAfterSeconds });
}

/**
 * Steps that a payment may take; the trigger `payments_move_forward` holds the same table. An x402 payment begins as `verifying`. A claim
 * begins as `settling`, because there is nothing to verify before its transfer may be on the chain. An ended payment never changes.
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
/** Statuses in which the chain alone ends a payment. */
export type ChainEnd = (typeof PAYMENT_STEPS)['settling'][number];

function mayStep(from: PaymentStatus, to: PaymentStatus): boolean {
  const next: readonly PaymentStatus[] = PAYMENT_STEPS[from];
  return next.includes(to);
}

/** The chain has not decided yet, and may still show that nothing was paid. */
export function isOpenStatus(status: PaymentStatus): boolean {
  return mayStep(status, 'unpaid');
}

/** The status is final. */
export function hasEnded(status: PaymentStatus): boolean {
  return PAYMENT_STEPS[status].length === 0;
}

/**
 * Outcomes of an unsigned claim that leave the money with the payee. `proven`: the wallet's own signature came. `superseded`: the payee
 * delivered or refunded the transfer for another claim.
 */
const COUNTS_ELSEWHERE = ['proven', 'superseded'] as const;

/** Returns how an unsigned claim ended; null if this is a payment or ended otherwise. */
export function endElsewhere({ endReason }: Payment): (typeof COUNTS_ELSEWHERE)[number] | null {
  return COUNTS_ELSEWHERE.find((end) => end === endReason) ?? null;
}

/** False from the committed row until the payment has ended without the payee keeping the money. */
export function mayPayAgain(payment: Payment): boolean {
  return hasEnded(payment.status) && payment.status !== 'completed' && endElsewhere(payment) === null;
}
