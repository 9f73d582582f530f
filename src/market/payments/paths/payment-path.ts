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

export interface PathContext {
  market: Market;
  completions: Completions;
  corroboration: Corroboration;
  /** Asks the facilitator for its signers. Returns false if it does not answer. */
  refreshSigners(): Promise<boolean>;
}

/** One reading of the chain, for some payments of one asset. */
export interface Reading {
  head: ChainHead;
  /** Whether a reading can show nothing new about a payment whose transactions were seen in these blocks (null if in none). */
  isUnchanged(payment: Payment, seenIn: readonly (bigint | null)[]): boolean;
}

export interface DriveResult {
  current: Payment;
  /**
   * The answer to give unless the chain shows the transfer or decides the payment. Null does not mean success, only that the payment may be
   * under way.
   */
  refusal: Refusal | null;
}

/** A payment method, with everything in which the methods differ. completion.ts defines the purposes, purchase and fee. */
export interface PaymentPath<P extends Payment, Opening, Evidence> {
  /** Writes the row before anyone else learns of the payment. Returns null if a unique index allows no second row for the same payment. */
  open(market: Market, tx: Tx, opening: Opening): Promise<Payment | null>;
  /** Whether a request with this proof refers to this payment. */
  isShownBy(payment: P, proof: Proof): boolean;
  /** Whether the proof is the payment's own and may therefore advance it. */
  mayDrive(context: PathContext, payment: P, proof: Proof): Promise<boolean>;
  /** Submits the payment's own proof. Called by one driver at a time, across all processes. */
  drive(context: PathContext, payment: P, proof: Proof, terms: Terms): Promise<DriveResult>;
  /** Reads the chain from one provider. Leaves out unreadable and unchanged payments. Throws RpcFailure if the shared part fails. */
  evidence(context: PathContext, reading: Reading, payments: readonly P[]): Promise<Map<bigint, Evidence>>;
  /** The kind of question that a provider must answer so that payments can be read. */
  question: PaymentQuestion;
  /** Blocks in which the evidence shows the payment's transactions (null if in none). */
  seenIn(evidence: Evidence): readonly (bigint | null)[];
  /** Ends the payment in one transaction if the evidence allows it, otherwise records what was seen. Returns the updated payment. */
  decide(context: PathContext, payment: P, evidence: Evidence): Promise<Payment>;
  /** Finds the log index of the payment's own final transfer when another payment has the proof; null if none. Throws RpcFailure. */
  locate(context: PathContext, head: ChainHead, payment: P): Promise<number | null>;
  present: Presentation<P>;
}

export interface Presentation<P extends Payment> {
  /** Time in milliseconds from which a transfer can no longer pay. */
  expiresAt(payment: P): number;
  verifying(payment: P): string;
  settling: string;
  unpaid: string;
  collect: string;
  /** Private ids by which the payment's owner knows it. */
  fields(payment: P): Record<string, string>;
  /** Terms for a recovery slip. Null if the intent has the slip. */
  slipTerms(payment: P): Record<string, unknown> | null;
  /** Refusal reason for a fee that was spent on another listing. */
  spentReason: Reason;
}
