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
  /** Confirms with the other providers whatever would be decided. */
  corroboration: Corroboration;
  /** Asks the facilitator for its signers. False if it does not answer. */
  refreshSigners(): Promise<boolean>;
}

/** One reading of the chain, for some payments of one asset. */
export interface Reading {
  head: ChainHead;
  /** True if the reading could show nothing new about a payment whose transactions were seen in these blocks; null: in none. */
  isUnchanged(payment: Payment, seenIn: readonly (bigint | null)[]): boolean;
}

export interface Driven {
  current: Payment;
  /** The answer if the chain shows nothing better. Null says only that the payment may be on its way. */
  refusal: Refusal | null;
}

/** A way to pay: everything in which the ways differ. The purposes, purchase and fee, are in completion.ts. */
export interface PaymentPath<P extends Payment, Opening, Evidence> {
  /** Writes the row before anybody else hears of the payment. Null if a unique index gives its slot to another row. */
  open(market: Market, tx: Tx, opening: Opening): Promise<Payment | null>;
  /** True if a request with this proof shows that very payment. */
  isShownBy(payment: P, proof: Proof): boolean;
  /** True if the proof is the payment's own, so that it may move the payment. */
  mayDrive(context: PathContext, payment: P, proof: Proof): Promise<boolean>;
  /** Submits such a proof. Called by one driver at a time, across all processes. */
  drive(context: PathContext, payment: P, proof: Proof, terms: Terms): Promise<Driven>;
  /** Reads the chain, from one provider. Leaves out unreadable and unchanged payments. Throws RpcFailure when the shared part fails. */
  evidence(context: PathContext, reading: Reading, payments: readonly P[]): Promise<Map<bigint, Evidence>>;
  /** The kind of question that a provider must answer so that payments can be read. */
  readFrom: PaymentQuestion;
  /** The blocks in which the evidence shows the payment's transactions; null: in none. */
  seenIn(evidence: Evidence): readonly (bigint | null)[];
  /** Ends the payment in one transaction if the evidence says so, else notes what was seen. Returns the resulting payment. */
  decide(context: PathContext, payment: P, evidence: Evidence): Promise<Payment>;
  /** Log index of its own final transfer, if another payment has the proof of the transaction. Null: none. Throws RpcFailure. */
  locate(context: PathContext, head: ChainHead, payment: P): Promise<number | null>;
  present: Presentation<P>;
}

export interface Presentation<P extends Payment> {
  /** Milliseconds: no transfer from then on can pay it. */
  expiresAt(payment: P): number;
  verifying(payment: P): string;
  settling: string;
  unpaid: string;
  collect: string;
  /** Ids by which its owner knows it, besides its public view. */
  fields(payment: P): Record<string, string>;
  /** Terms for a recovery slip; null if the intent has the slip. */
  slipTerms(payment: P): Record<string, unknown> | null;
  /** Reason for a fee that was spent on another listing. */
  spentReason: Reason;
}
