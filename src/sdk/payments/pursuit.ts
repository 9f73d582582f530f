import type { z } from 'zod';
import type { pendingAnswer } from '../../contract/listings.ts';
import type { PaymentHeader } from '../call-types.ts';
import type { Client } from '../client.ts';
import type { ExpectedPayment } from './choose-offer.ts';
import type { PaymentProof } from './payment-proof.ts';
import type { X402Version } from './payment-required.ts';
import type { OnProgress } from './progress.ts';
import type { ProofStore, SavedPayment } from './proof-store.ts';
import type { Wallet } from './sign-authorization.ts';
import type { CollectProof } from './sign-to-collect.ts';

/** Options that every flow with a payment takes. */
export interface PaymentOptions {
  client: Client;
  wallet: Wallet;
  /** Without it: v2 where the market offers it, else v1. */
  x402Version?: X402Version;
  onProgress?: OnProgress;
  /** Where the proof is kept. The default lives as long as the client; hand in a durable one to survive a crash. */
  proofStore?: ProofStore;
  /** Allows one more signature after the market has said that the first payment ended unpaid and its window is over. */
  mayPayAgain?: boolean;
  /** After `PaymentMayBeLost`: what was found paid for something else. */
  payAnew?: boolean;
  /**
   * `recovery_slip` of what was bought or listed before, for a market that has lost it since: it is taken back and answered again. Nothing
   * that could pay is signed then; goods without a key are collected by a signature over nothing.
   */
  recoverySlip?: string;
  /** Then `PaymentUndecided` is thrown; calling again goes on. Default 3,600. */
  maxWaitSeconds?: number;
  signal?: AbortSignal;
}

export type Pending = z.output<typeof pendingAnswer>;

/** For the body of a request that may open a payment. */
export function payAnewOf({ payAnew }: Pick<PaymentOptions, 'payAnew'>): { pay_anew?: true } {
  return payAnew === true ? { pay_anew: true } : {};
}

/** What the buyer agrees to before anything is signed. */
export interface Terms {
  expected: ExpectedPayment;
  /** Null for fees. */
  artifactCommitment: string | null;
}

export interface Ask {
  payment: PaymentHeader | undefined;
  deliveryToken: string | undefined;
  collect: boolean;
  /** Sent with a collecting signature. */
  collectSalt: `0x${string}` | undefined;
  recoverySlip: string | undefined;
}

/** One thing to be paid for, whatever it is. */
export interface Pursuit<Done> {
  options: PaymentOptions;
  purpose: SavedPayment['purpose'];
  storeKey: string;
  /** Whose goods a wallet that has paid can collect by a signature that moves nothing; null for fees. */
  listingId: number | null;
  readTerms(): Promise<Terms>;
  send(ask: Ask): Promise<{ done: Done } | { pending: Pending }>;
}

/** How far it has come in this process. */
export interface Run<Done = unknown> extends Pursuit<Done> {
  store: ProofStore;
  saved: SavedPayment | null;
  terms: Terms;
  token: string | null;
  slip: string | null;
  /** It goes along with each request from now on. */
  showsSlip: boolean;
  submitted: boolean;
  collecting: boolean;
  collectProof: CollectProof | null;
  knownToExist: boolean;
  askedAgain: boolean;
  failures: number;
  startedMs: number;
}

/** Seconds in which the proof can still be used. */
export function secondsLeft(run: Run, proof: PaymentProof | null): number {
  return proof === null
    ? 0
    : Math.max(0, proof.valid_before - Math.floor(run.options.client.environment.now() / 1_000));
}
