import type { z } from 'zod';
import type { pendingAnswer } from '../../contract/listings.ts';
import { type PaymentOut, paymentOut } from '../../contract/payments.ts';
import type { Client, PaymentHeader } from '../client.ts';
import { type AnyReason, isGatewayFault, MarketError, UnreadableAnswer } from '../errors.ts';
import type { PaymentProof, Wallet } from './payment-proof.ts';
import type { ExpectedPayment, X402Version } from './payment-required.ts';
import type { ProofStore, SavedPayment } from './proof-store.ts';
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
  /**
   * For goods that this wallet has paid for: they are asked for by a signature over nothing, and nothing that could pay is signed.
   * `payment_required` then means that the market knows of no such payment.
   */
  collectOnly?: boolean;
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
  /** A buyer of an older version may have these goods without paying. Missing: no. */
  isNewerVersion?: boolean;
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
export interface PaymentFlow<Done> {
  options: PaymentOptions;
  purpose: SavedPayment['purpose'];
  storeKey: string;
  /** Whose goods a wallet that has paid can collect by a signature that moves nothing; null for fees. */
  listingId: number | null;
  /** Whether it is asked first, by a signature over nothing, if the goods are this wallet's without a payment. Default: no. */
  collectsFirst?(terms: Terms): boolean;
  readTerms(): Promise<Terms>;
  send(ask: Ask): Promise<{ done: Done } | { pending: Pending }>;
}

/** How far it has come in this process. */
export interface Run<Done = unknown> extends PaymentFlow<Done> {
  store: ProofStore;
  saved: SavedPayment | null;
  terms: Terms;
  token: string | null;
  slip: string | null;
  /** It goes along with each request from now on. */
  showsSlip: boolean;
  submitted: boolean;
  /** An answer told of a transfer; a later one that does not come takes nothing of that back. */
  wasPending: boolean;
  collecting: boolean;
  /** It collects only to see whether there is anything to pay for. Ends with the market's no. */
  collectingFirst: boolean;
  collectProof: CollectProof | null;
  knownToExist: boolean;
  askedAgain: boolean;
  failures: number;
  startedMs: number;
}

/**
 * Seconds in which the proof can still be used. One that can pay has run out only when it has by our clock and by the market's; one over
 * nothing is judged by the market alone.
 */
export function secondsLeft({ options: { client } }: Run, proof: PaymentProof | CollectProof | null): number {
  if (proof === null) return 0;
  const nowMs = 'salt' in proof ? client.clock.now() : client.clock.earlier();
  return Math.max(0, proof.valid_before - Math.floor(nowMs / 1_000));
}

/**
 * `signed`: the authorization exists and is saved. `submitted`: the market has been handed it; no transfer is seen yet. `pending`: the
 * transfer is seen, or the payment known, and not final. `collecting`: paid for; the wallet signs to show that it is the payer.
 */
export type ProgressPhase = 'signed' | 'submitted' | 'pending' | 'collecting' | 'delivered';

export interface Progress {
  phase: ProgressPhase;
  /** As the market last told it. */
  payment?: PaymentOut;
  secondsWaited: number;
  /** Of the refusal that is waited out, or why no answer came that can be read. */
  reason?: AnyReason;
  /** The market's guess at what finality still takes. */
  estimateSeconds?: number;
}

export type OnProgress = (progress: Progress) => void;

/** The payment that a refusal tells of, if it tells of one. */
export function paymentIn(error: unknown): PaymentOut | undefined {
  if (!(error instanceof MarketError)) return undefined;
  const parsed = paymentOut.safeParse(error.problem['payment']);
  return parsed.success ? parsed.data : undefined;
}

/** How long a call waits for a payment to be decided unless it is told otherwise. */
export const DEFAULT_WAIT_SECONDS = 3_600;

/** Waits as long as the market asks, or a growing while if it names no time. */
export async function takeTurn(run: Run, seen: { pending: Pending } | { error: unknown }): Promise<void> {
  const { environment } = run.options.client;
  const pending = 'pending' in seen ? seen.pending : null;
  const error = 'error' in seen ? seen.error : undefined;
  const seconds = pauseSeconds(pending?.retry_after_seconds ?? null, error, run.failures);
  reportProgress(run, pending === null && !run.wasPending ? 'submitted' : 'pending', pending, error);
  const deadlineMs = run.startedMs + (run.options.maxWaitSeconds ?? DEFAULT_WAIT_SECONDS) * 1_000;
  if (environment.now() + seconds * 1_000 > deadlineMs) throw undecidedError(run, 'The wait is over', error);
  try {
    await environment.sleep(seconds * 1_000, run.options.signal);
  } catch (cause) {
    throw undecidedError(run, 'The wait was broken off', cause);
  }
}

export function reportProgress(run: Run, phase: ProgressPhase, pending: Pending | null = null, error?: unknown): void {
  if (phase === 'submitted' && run.saved === null) return;
  const payment = pending?.payment ?? paymentIn(error);
  const estimate = pending?.estimate_seconds ?? null;
  run.options.onProgress?.({
    phase,
    secondsWaited: Math.floor((run.options.client.environment.now() - run.startedMs) / 1_000),
    ...(payment === undefined ? {} : { payment }),
    ...(error instanceof MarketError ? { reason: error.reason } : {}),
    ...(error instanceof UnreadableAnswer ? { reason: error.why } : {}),
    ...(estimate === null ? {} : { estimateSeconds: estimate }),
  });
}

/** What to throw when this process gives up: a warning as soon as a payment may exist, else the cause itself. */
export function undecidedError(run: Run, detail: string, cause: unknown): unknown {
  const nothingKnown = run.saved === null && !run.knownToExist;
  return nothingKnown && cause !== undefined ? cause : new PaymentUndecided(detail, run.saved, cause);
}

const LONGEST_PAUSE_SECONDS = 30;

/** As long as the market asks, or a growing while if it names no time. */
export function pauseSeconds(asked: number | null, error: unknown, failures: number): number {
  const wanted = asked ?? retryAfterOf(error);
  return Math.max(1, wanted ?? Math.min(LONGEST_PAUSE_SECONDS, 2 ** Math.min(failures, 5)));
}

/** Tries before anything is signed, where a proxy says that the market is away: a minute, in which a standby takes over. */
export const GATEWAY_TRIES = 6;

/** Reads before anything is signed, with patience for a proxy. Throws the proxy's last answer when the tries, or the caller's patience, are at their end. */
export async function readThroughGateway<T>(
  {
    client,
    maxWaitSeconds = DEFAULT_WAIT_SECONDS,
    signal,
  }: Pick<PaymentOptions, 'client' | 'maxWaitSeconds' | 'signal'>,
  read: () => Promise<T>,
): Promise<T> {
  const { environment } = client;
  const endMs = environment.now() + maxWaitSeconds * 1_000;
  for (let failures = 1; ; failures += 1) {
    try {
      return await read();
    } catch (error) {
      const pauseMs = pauseSeconds(null, error, failures) * 1_000;
      const isOver = failures === GATEWAY_TRIES || environment.now() + pauseMs > endMs;
      if (isOver || !isGatewayFault(error)) throw error;
      await environment.sleep(pauseMs, signal);
    }
  }
}

function retryAfterOf(error: unknown): number | null {
  return error instanceof MarketError || error instanceof UnreadableAnswer ? error.retryAfterSeconds : null;
}

/** Nothing is left to wait for: the proof is forgotten. */
export async function finishRun(run: Run): Promise<void> {
  await run.store.clear(run.storeKey);
  reportProgress(run, 'delivered');
}

/** Waiting ended before the payment did. It may still be carried out: call again with the same store, and do not pay elsewhere. */
export class PaymentUndecided extends Error {
  override readonly name = 'PaymentUndecided';
  readonly doNotPayAgain = true;
  /** Null when this process has signed nothing: the market holds an earlier payment of this buyer. */
  readonly nonce: string | null;
  readonly payer: string | null;

  constructor(detail: string, payment: SavedPayment | null, cause?: unknown) {
    super(`${detail}. A payment may exist: call again with the same proof store, do not pay again`, { cause });
    this.nonce = payment?.proof.nonce ?? null;
    this.payer = payment?.proof.payer ?? null;
  }
}
