import type { z } from 'zod';
import type { pendingAnswer } from '../../contract/listings.ts';
import { type PaymentOut, paymentOut } from '../../contract/payments.ts';
import type { BuyingClient, PaymentHeader } from '../client.ts';
import { type AnyReason, isGatewayFault, MarketError, UnreadableAnswer } from '../errors.ts';
import type { PaymentProof, Wallet } from './payment-proof.ts';
import type { ExpectedPayment, X402Version } from './payment-required.ts';
import type { ProofStore, SavedPayment } from './proof-store.ts';
import type { CollectProof } from './sign-to-collect.ts';

/** Options of every call that pays by x402. */
export interface PaymentOptions {
  client: BuyingClient;
  wallet: Wallet;
  /** Default: v2 if the market offers it, else v1. */
  x402Version?: X402Version;
  onProgress?: OnProgress;
  /** Saves the signed proof. The default lasts as long as the client; use a durable one to survive a crash. */
  proofStore?: ProofStore;
  /** Allows another signature once the market has said that the first payment wasn't made and its window has ended. */
  mayPayAgain?: boolean;
  /** After `PaymentMayBeLost`: confirms that the transfer that was found paid for something else. */
  payAnew?: boolean;
  /**
   * `recovery_slip` of an earlier purchase or listing, for a market that has lost its record since. The market restores the record and
   * answers again. No payment is signed; goods bought without a key are collected with a signature over value 0.
   */
  recoverySlip?: string;
  /**
   * Only collects goods that this wallet paid for, with a signature over value 0. Throws `MarketError` with `nothing_to_collect` if it has
   * neither bought them nor started to.
   */
  collectOnly?: boolean;
  /** Seconds until `PaymentUndecided` is thrown; calling again resumes. Default: 3,600. */
  maxWaitSeconds?: number;
  signal?: AbortSignal;
}

export type Pending = z.output<typeof pendingAnswer>;

export function payAnewOf({ payAnew }: Pick<PaymentOptions, 'payAnew'>): { pay_anew?: true } {
  return payAnew === true ? { pay_anew: true } : {};
}

/** Terms that the buyer agrees to before signing. */
export interface Terms {
  expected: ExpectedPayment;
  /** Null for fees. */
  artifactCommitment: string | null;
  /** True if buyers of an older version may get these goods without paying. */
  isNewerVersion?: boolean;
}

export interface Ask {
  payment: PaymentHeader | undefined;
  deliveryToken: string | undefined;
  collect: boolean;
  /** Salt sent with a collecting signature. */
  collectSalt: `0x${string}` | undefined;
  recoverySlip: string | undefined;
}

export interface PaymentFlow<Done> {
  options: PaymentOptions;
  purpose: SavedPayment['purpose'];
  storeKey: string;
  /** Listing whose goods can be collected with a signature over value 0; null for fees. */
  listingId: number | null;
  /** Whether to ask first, with a signature over value 0, if the wallet already owns the goods. Default: false. */
  collectsFirst?(terms: Terms): boolean;
  readTerms(): Promise<Terms>;
  send(ask: Ask): Promise<{ done: Done } | { pending: Pending }>;
}

export interface PaymentRun<Done = unknown> extends PaymentFlow<Done> {
  store: ProofStore;
  saved: SavedPayment | null;
  terms: Terms;
  token: string | null;
  slip: string | null;
  /** True if every further request must carry the recovery slip. */
  showsSlip: boolean;
  submitted: boolean;
  /** True once the market has answered that the payment is pending. Later failures don't change it. */
  wasPending: boolean;
  collecting: boolean;
  /** True while collecting only to find out whether the wallet already owns the goods. */
  collectingFirst: boolean;
  collectProof: CollectProof | null;
  knownToExist: boolean;
  askedAgain: boolean;
  failures: number;
  startedMs: number;
}

/**
 * Seconds for which the proof can still be used. A payment counts as expired once it has expired by both clocks, a value-0 proof once it
 * has expired by the market's clock.
 */
export function secondsLeft({ options: { client } }: PaymentRun, proof: PaymentProof | CollectProof | null): number {
  if (proof === null) return 0;
  const nowMs = 'salt' in proof ? client.clock.now() : client.clock.earlier();
  return Math.max(0, proof.valid_before - Math.floor(nowMs / 1_000));
}

/**
 * `signed`: the authorization exists and is saved. `submitted`: it was sent to the market, and no transfer was seen yet. `pending`: the
 * transfer was seen or the payment is known, but not final. `collecting`: the goods are paid for, and the wallet signs to prove that it is
 * the payer.
 */
export type ProgressPhase = 'signed' | 'submitted' | 'pending' | 'collecting' | 'delivered';

export interface Progress {
  phase: ProgressPhase;
  /** The market's latest information. */
  payment?: PaymentOut;
  secondsWaited: number;
  /** Reason for waiting, from a temporary refusal or an unreadable answer. */
  reason?: AnyReason;
  /** The market's estimate of the time to finality. */
  estimateSeconds?: number;
}

export type OnProgress = (progress: Progress) => void;

export function paymentIn(error: unknown): PaymentOut | undefined {
  if (!(error instanceof MarketError)) return undefined;
  const parsed = paymentOut.safeParse(error.problem['payment']);
  return parsed.success ? parsed.data : undefined;
}

export const DEFAULT_WAIT_SECONDS = 3_600;

/** Reports progress, then pauses. Throws if the pause would exceed the wait, or if it is aborted. */
export async function pauseBeforeRetry(
  run: PaymentRun,
  seen: { pending: Pending } | { error: unknown },
): Promise<void> {
  const { environment } = run.options.client;
  const pending = 'pending' in seen ? seen.pending : null;
  const error = 'error' in seen ? seen.error : undefined;
  const seconds = pauseSeconds(pending?.retry_after_seconds ?? null, error, run.failures);
  reportProgress(run, pending === null && !run.wasPending ? 'submitted' : 'pending', pending, error);
  const deadlineMs = run.startedMs + (run.options.maxWaitSeconds ?? DEFAULT_WAIT_SECONDS) * 1_000;
  if (environment.now() + seconds * 1_000 > deadlineMs) throw undecidedError(run, 'Stopped waiting', error);
  try {
    await environment.sleep(seconds * 1_000, run.options.signal);
  } catch (cause) {
    throw undecidedError(run, 'Waiting was interrupted', cause);
  }
}

export function reportProgress(
  run: PaymentRun,
  phase: ProgressPhase,
  pending: Pending | null = null,
  error?: unknown,
): void {
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

/** Returns the error to throw when giving up: `PaymentUndecided` if a payment may exist, else the cause itself. */
export function undecidedError(run: PaymentRun, detail: string, cause: unknown): unknown {
  const nothingKnown = run.saved === null && !run.knownToExist;
  return nothingKnown && cause !== undefined ? cause : new PaymentUndecided(detail, run.saved, cause);
}

const LONGEST_PAUSE_SECONDS = 30;

/** Returns the pause that the market asked for, otherwise one by exponential backoff. */
export function pauseSeconds(requested: number | null, error: unknown, failures: number): number {
  const wanted = requested ?? retryAfterOf(error);
  return Math.max(1, wanted ?? Math.min(LONGEST_PAUSE_SECONDS, 2 ** Math.min(failures, 5)));
}

/** Attempts before signing if a proxy can't reach the market. They take about a minute, enough for a standby to take over. */
export const GATEWAY_TRIES = 6;

/** Retries a read while a proxy can't reach the market. Throws the last error when attempts or time run out. */
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

/** Clears the saved proof and reports delivery. */
export async function finishRun(run: PaymentRun): Promise<void> {
  await run.store.clear(run.storeKey);
  reportProgress(run, 'delivered');
}

/** The wait ended before the payment was decided. It may still be executed, so call again with the same store and don't pay elsewhere. */
export class PaymentUndecided extends Error {
  override readonly name = 'PaymentUndecided';
  readonly doNotPayAgain = true;
  /** Null if no signature is saved, because the payment in progress was started elsewhere. */
  readonly nonce: string | null;
  readonly payer: string | null;

  constructor(detail: string, payment: SavedPayment | null, cause?: unknown) {
    super(`${detail}. A payment may exist: do not pay again, but call again with the same proof store`, { cause });
    this.nonce = payment?.proof.nonce ?? null;
    this.payer = payment?.proof.payer ?? null;
  }
}
