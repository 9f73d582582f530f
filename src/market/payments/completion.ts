import type { PaymentPurpose } from '../../contract/vocabulary.ts';
import type { FoundTransfer } from '../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { Payment } from './payment.ts';

export type SettledTransfer = FoundTransfer;

/** The bought listing, read under its lock. For a fee, both fields are null. */
export interface Subject {
  removedAt: Date | null;
  /** Null for a listing fee. */
  sellerId: bigint | null;
}

export interface Paid<Transfer> {
  transfer: Transfer;
  /**
   * Whether only the payer may collect. True if no signer of the facilitator sent the transaction, because then someone other than the
   * payer may have opened the payment here.
   */
  payerCollectsOnly: boolean;
  subject: Subject;
}

/**
 * Defines what happens when a payment of one purpose ends. Every function runs inside the transaction that ends the payment, so that proof,
 * goods and event are committed together or not at all. The money core knows nothing else about purposes.
 */
export interface Completion {
  /** Returns the bought listing, or the listing that the fee paid for; null while there is none. */
  listingOf(queryable: Queryable, payment: Payment): Promise<bigint | null>;
  /** Returns the merchant that decides on a review: the seller, or the maintainer for a fee. */
  deciderOf(queryable: Queryable, payment: Payment): Promise<bigint>;
  /** Takes a share lock on the bought listing; a fee locks nothing. Call before the payment row is locked. */
  lockSubject(tx: Tx, payment: Payment): Promise<Subject>;
  /** Called once the transfer is final and the proof row is written. */
  complete(tx: Tx, payment: Payment, paid: Paid<SettledTransfer>): Promise<void>;
  /**
   * Completes a reviewed payment because its payee (for a fee the maintainer) decided to deliver. `transfer` is null if another payment has
   * the transaction's proof. Throws if the goods can no longer be given.
   */
  completeReviewed(tx: Tx, payment: Payment, paid: Paid<SettledTransfer | null>): Promise<void>;
  /** Called when the payment ends unpaid or goes to review. */
  endUncompleted(tx: Tx, payment: Payment): Promise<void>;
}

export type Completions = Readonly<Record<PaymentPurpose, Completion>>;
