import type { PaymentPurpose } from '../../contract/vocabulary.ts';
import type { FoundTransfer } from '../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { Payment } from './payment.ts';

export type SettledTransfer = FoundTransfer;

/** What is paid for, as it is under its lock. */
export interface Subject {
  /** When the maintainer removed it. */
  removedAt: Date | null;
  /** Null for a listing fee. */
  sellerId: bigint | null;
}

export interface Paid<Transfer> {
  transfer: Transfer;
  /** True: the transaction came from none of the facilitator's signers, so only the payer is known to have brought the payment here. */
  payerCollectsOnly: boolean;
  subject: Subject;
}

/**
 * What a purpose does when its payment ends. Every function runs inside the transaction that ends the payment, so that proof,
 * goods and event stand or fall together. The money core is handed one of these per purpose and knows nothing else about them.
 */
export interface Completion {
  /** The listing that was bought, or that the fee has paid for; null while there is none. */
  listingOf(queryable: Queryable, payment: Payment): Promise<bigint | null>;
  /** The merchant that decides on a review: who got the money, or answers for it. */
  deciderOf(queryable: Queryable, payment: Payment): Promise<bigint>;
  /** Share-locks what is paid for. Called before the payment row is locked. */
  lockSubject(tx: Tx, payment: Payment): Promise<Subject>;
  /** The money is final and the proof row is written. */
  complete(tx: Tx, payment: Payment, paid: Paid<SettledTransfer>): Promise<void>;
  /**
   * The payee, or the maintainer for a fee, takes a reviewed payment as paid. `transfer` is null where another payment has the
   * transaction's proof. Refuses what cannot be given any more.
   */
  completeReviewed(tx: Tx, payment: Payment, paid: Paid<SettledTransfer | null>): Promise<void>;
  /** The payment ended without completing: unpaid, or for review. */
  endUncompleted(tx: Tx, payment: Payment): Promise<void>;
}

export type Completions = Readonly<Record<PaymentPurpose, Completion>>;
