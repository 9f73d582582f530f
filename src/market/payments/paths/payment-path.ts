import type { Reason } from '../../../contract/errors.ts';
import type { PaymentQuestion } from '../../../platform/chain/providers.ts';
import type { Tx } from '../../../platform/database/database.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import type { Corroboration } from '../chain/corroborate.ts';
import type { ChainHead } from '../chain/read-head.ts';
import type { Completions } from '../completion.ts';
import type { Payment } from '../payment.ts';
import type { Proof, Terms } from '../terms.ts';

/** What a path is handed by the money core. */
export interface PathContext {
  market: Market;
  completions: Completions;
  /** What the other providers say to what would be decided. */
  corroboration: Corroboration;
  /** Asks the facilitator who its signers are. False where it does not answer. */
  refreshSigners(): Promise<boolean>;
}

/** One reading of the chain, for some payments of one asset. */
export interface Reading {
  head: ChainHead;
  /** Whether it could show nothing new of a payment whose transactions were seen in these blocks; null: in none. */
  isUnchanged(payment: Payment, seenIn: readonly (bigint | null)[]): boolean;
}

/** A payment after the facilitator's part. */
export interface Driven {
  current: Payment;
  /** What that part amounts to: the answer where the chain shows nothing better. Null says only that it may be on its way. */
  refusal: Refusal | null;
}

/** How a payment is made: everything in which the ways differ. What a payment is for, a purchase or a fee, is in completion.ts. */
export interface PaymentPath<P extends Payment, Opening, Evidence> {
  /** Writes the row, before anybody hears of the payment. Null when a unique rule gives its place to another one. */
  open(market: Market, tx: Tx, opening: Opening): Promise<Payment | null>;
  /** Whether a request with this proof shows that very payment. */
  isShownBy(payment: P, proof: Proof): boolean;
  /** Whether this proof is the payment's own, so that it may move it. */
  mayDrive(context: PathContext, payment: P, proof: Proof): Promise<boolean>;
  /** Hands such a proof on. Called by one at a time, across all processes. */
  drive(context: PathContext, payment: P, proof: Proof, terms: Terms): Promise<Driven>;
  /**
   * Reads the chain, all from one provider. Without those that cannot be read or are unchanged. Throws RpcFailure when what they share
   * cannot be read.
   */
  evidence(context: PathContext, reading: Reading, payments: readonly P[]): Promise<Map<bigint, Evidence>>;
  /** The kind of question that a provider has to answer so that payments can be read. */
  readFrom: PaymentQuestion;
  /** In which blocks evidence shows the payment's transactions; null: in none. */
  seenIn(evidence: Evidence): readonly (bigint | null)[];
  /** Ends the payment if the evidence says so, in one transaction, or notes what is seen. The payment as that leaves it. */
  decide(context: PathContext, payment: P, evidence: Evidence): Promise<Payment>;
  /** The log index of its own final transfer, where another payment has the proof of the transaction. Null: none. Throws RpcFailure. */
  locate(context: PathContext, head: ChainHead, payment: P): Promise<number | null>;
  present: Presentation<P>;
}

/** What is said about a payment. */
export interface Presentation<P extends Payment> {
  /** Milliseconds: no transfer from then on can pay it. */
  expiresAt(payment: P): number;
  /** What to do next. */
  verifying(payment: P): string;
  settling: string;
  unpaid: string;
  collect: string;
  /** The ids by which its owner knows it, in addition to the view of it. */
  fields(payment: P): Record<string, string>;
  /** What it was opened with, for a recovery slip; null: its intent has one. */
  slipTerms(payment: P): Record<string, unknown> | null;
  /** Why a fee pays for nothing more when it was spent on another listing. */
  spentReason: Reason;
}
