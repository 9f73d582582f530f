import type { PaymentPurpose, PaymentWay } from '../../contract/vocabulary.ts';
import { type Hex, toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';

export type ReviewOutcome = 'deliver' | 'refunded' | 'declined';

/** One row of the ledger, whichever way it is paid. */
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
  /** What is asked for: exactly that by x402, at least that by a transfer. */
  valueUnits: bigint;
  deliveryTokenHash: Buffer | null;
  payerCollectsOnly: boolean;
  txHash: Hex | null;
  blockNumber: bigint | null;
  blockTime: Date | null;
  /** Its own transfer in `txHash`; null while there is none, and where the transfer is what another payment was made with. */
  logIndex: number | null;
  endReason: string | null;
  /** The outcome of its review; null: there was no review, or it has not ended. */
  reviewOutcome: ReviewOutcome | null;
  /** When the money may first have been on its way. */
  settlingAt: Date | null;
  createdAt: Date;
  /** When an edit of the listing stopped it, before it was submitted; null: none did. */
  stoppedAt: Date | null;
  /** The goods were bought before: its transfer can only be reviewed. */
  surplus: boolean;
  /** When the chain had its say; a review comes after that. */
  endedAt: Date | null;
  updatedAt: Date;
}

/** An authorization and the request that it belongs to for ever. */
export interface X402Payment extends AnyPayment {
  path: 'x402';
  nonce: Hex;
  validAfter: bigint;
  validBefore: bigint;
  openedBlock: bigint;
  /** When the facilitator had last said who its signers are; null: never. */
  signersReadAt: Date | null;
}

/** A signed claim that a transfer was made for an intent. */
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

/** What the columns hold of which each way to pay fills some, and the merchant, whom some ways need. */
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

/** What a payment has of its way, out of its row; null: the row lacks some of it. */
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

/** What an undecided payment is answered with while no transfer of it is seen on the chain. */
export function unseenRefusal(payment: Payment): Refusal {
  return payment.status === 'verifying'
    ? new Refusal('verification_pending', { retryAfterSeconds: LEAST_RETRY_SECONDS })
    : new Refusal('settlement_pending', { retryAfterSeconds: LEAST_RETRY_SECONDS });
}

/**
 * The listing was edited before the payment was submitted: it never will be, and it ends unpaid once its authorization has run out, at
 * `expiresAt` in milliseconds.
 */
export function stoppedRefusal(expiresAt: number, now: number): Refusal {
  const retryAfterSeconds = Math.max(LEAST_RETRY_SECONDS, Math.ceil((expiresAt - now) / 1000));
  return new Refusal('listing_changed', { retryAfterSeconds });
}

/**
 * Where a payment may go from each state; the trigger `payments_move_forward` holds the same. By x402 one begins as `verifying`; a
 * claim has nothing to verify before it may be on the chain, and begins as `settling`. What has ended stays as it ended.
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
/** What the chain alone ends a payment as. */
export type ChainEnd = (typeof PAYMENT_STEPS)['settling'][number];

function mayStep(from: PaymentStatus, to: PaymentStatus): boolean {
  const next: readonly PaymentStatus[] = PAYMENT_STEPS[from];
  return next.includes(to);
}

/** The chain has not had its say: it may still show that nothing was paid. */
export function isOpenStatus(status: PaymentStatus): boolean {
  return mayStep(status, 'unpaid');
}

/** Nothing more becomes of it. */
export function hasEnded(status: PaymentStatus): boolean {
  return PAYMENT_STEPS[status].length === 0;
}

/**
 * Ends of a claim that its wallet did not sign which leave the money with the payee: the wallet's own signature came, or the payee took the
 * transfer as paid, or gave it back, for another claim.
 */
const COUNTS_ELSEWHERE = ['proven', 'superseded'] as const;

/** How such a claim ended; null: it is a payment, or ended otherwise. */
export function endElsewhere({ endReason }: Payment): (typeof COUNTS_ELSEWHERE)[number] | null {
  return COUNTS_ELSEWHERE.find((end) => end === endReason) ?? null;
}

/** False from the committed row until the attempt has ended without the money being kept. */
export function mayPayAgain(payment: Payment): boolean {
  return hasEnded(payment.status) && payment.status !== 'completed' && endElsewhere(payment) === null;
}
