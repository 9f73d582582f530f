import { type Hex, isHash } from 'viem';
import type { z } from 'zod';
import type { pendingAnswer } from '../../../contract/listings.ts';
import type { ClaimBody } from '../../../contract/payments.ts';
import { isGatewayFault, MarketError, UnreadableAnswer } from '../../errors.ts';
import { DEFAULT_WAIT_SECONDS, pauseSeconds, paymentIn } from '../payment-run.ts';
import type { Intent, TransferTerms } from './check-intent.ts';
import { TransferRefused, TransferUndecided } from './transfer-errors.ts';
import type { SoughtTransfer, TransferOptions, TransferPhase, TransferProgress } from './transfer-options.ts';
import { loadTransfer, type SavedTransfer, type TransferStore, transferMemoryOf } from './transfer-store.ts';

export type Pending = z.output<typeof pendingAnswer>;
export type Answer<Done> = { done: Done } | { pending: Pending };

export interface TransferFlow<Done> {
  options: TransferOptions;
  storeKey: string;
  tipUnits: bigint;
  /** Runs before opening an intent. Returns the expected terms, or the result if nothing has to be paid. */
  agree(run: TransferRun<Done>): Promise<{ terms: TransferTerms } | { done: Done }>;
  openIntent(): Promise<{ intent: Intent; isNew: boolean }>;
  /** Whether the market would accept this signature of the intent's challenge. Null if it didn't say. */
  checkSignature(body: { intent_id: string; payer_signature: string }): Promise<boolean | null>;
  claim(body: ClaimBody, recoverySlip?: string): Promise<Answer<Done>>;
}

export interface TransferRun<Done = unknown> extends TransferFlow<Done> {
  store: TransferStore;
  /** True if the store outlives the process. It then contains every transfer that any process using this store has sent. */
  durable: boolean;
  startedMs: number;
}

export interface StartedRun<Done> {
  run: TransferRun<Done>;
  saved: SavedTransfer | null;
}

export async function beginTransferRun<Done>(flow: TransferFlow<Done>): Promise<StartedRun<Done>> {
  const { client, store: ownStore } = flow.options;
  const store = ownStore ?? transferMemoryOf(client).store;
  const run = { ...flow, store, durable: ownStore !== undefined, startedMs: client.environment.now() };
  return { run, saved: await loadTransfer(store, flow.storeKey) };
}

/** Returns the key under which an intent is paid only once, even if several calls get the same intent, as for listing fees. */
export function intentKey(run: TransferRun, intentId: string): string {
  return `${run.options.client.baseUrl} transfer for ${intentId}`;
}

/** Call only for a transfer that was never sent. */
export async function forgetTransfer(run: TransferRun, saved: SavedTransfer): Promise<void> {
  await run.store.clear(run.storeKey);
  await run.store.clear(intentKey(run, saved.intent_id));
}

export function soughtTransferOf(saved: SavedTransfer): SoughtTransfer {
  const { payer, payee, amount_units, asset, chain_id, created_at, expires_at } = saved;
  return {
    ...{ from: payer, to: payee, units: BigInt(amount_units), asset, chainId: chain_id },
    ...{ since: created_at, until: expires_at },
  };
}

export function reportTransfer(
  run: TransferRun,
  phase: TransferPhase,
  seen: Omit<TransferProgress, 'phase' | 'secondsWaited'> = {},
): void {
  const { client, onProgress } = run.options;
  const secondsWaited = Math.floor((client.environment.now() - run.startedMs) / 1_000);
  onProgress?.({ phase, secondsWaited, ...seen });
}

/** Normalizes a transaction hash to lower case, as the market compares it. */
export function readHash(text: string): Hex {
  if (!isHash(text)) throw new TypeError('a transaction hash is 0x and 64 hex digits');
  return text.toLowerCase() as Hex;
}

interface Waiting<Done> {
  ask(): Promise<Answer<Done>>;
  /** Called for each answer except the last. */
  seen(pending: Pending | null, error: unknown): void;
  /** Creates the error to throw if waiting ends first. */
  undecided(detail: string, cause: unknown): unknown;
  /** Creates the error to throw if the market refuses. */
  refused(error: MarketError): unknown;
}

/**
 * Failures in a row after which an unreadable answer ends the wait. Missing answers and proxies that can't reach the market never end it.
 */
const MAX_UNREADABLE_ANSWERS = 6;

/** Repeats the same request until it is decided, at the pace that the market asks for. */
export async function repeatUntilDecided<Done>(run: TransferRun, waiting: Waiting<Done>): Promise<Done> {
  for (let failures = 0; ; ) {
    let pending: Pending | null = null;
    let error: unknown;
    try {
      const answer = await waiting.ask();
      if ('done' in answer) return answer.done;
      pending = answer.pending;
      failures = 0;
    } catch (caught) {
      failures += 1;
      error = caught;
      throwUnlessTemporary(caught, failures, waiting);
    }
    waiting.seen(pending, error);
    const seconds = pauseSeconds(pending?.retry_after_seconds ?? null, error, failures);
    await pauseRun(run, seconds, (detail, cause) => waiting.undecided(detail, cause ?? error));
  }
}

function throwUnlessTemporary(
  error: unknown,
  failures: number,
  waiting: Pick<Waiting<never>, 'undecided' | 'refused'>,
) {
  if (error instanceof MarketError) {
    if (!isTemporary(error)) throw waiting.refused(error);
    return;
  }
  if (!(error instanceof UnreadableAnswer)) throw error;
  if (error.why !== 'no_answer' && !isGatewayFault(error) && failures >= MAX_UNREADABLE_ANSWERS) {
    throw waiting.undecided('The market’s answers can’t be read', error);
  }
}

/** Whether a refusal is temporary, so that the same request may succeed later. */
export function isTemporary(error: MarketError): boolean {
  const { retry } = error.problem;
  const isFault = error.status >= 500 || error.status === 429 || error.reason === 'payment_undecided';
  return isFault && (retry === 'same_request' || retry === 'same_proof');
}

/** Sleeps, or throws if the wait would end first. */
export async function pauseRun(
  run: TransferRun,
  seconds: number,
  undecided: (detail: string, cause?: unknown) => unknown,
): Promise<void> {
  const { client, maxWaitSeconds = DEFAULT_WAIT_SECONDS, signal } = run.options;
  const { environment } = client;
  if (environment.now() + seconds * 1_000 > run.startedMs + maxWaitSeconds * 1_000) throw undecided('Stopped waiting');
  try {
    await environment.sleep(seconds * 1_000, signal);
  } catch (cause) {
    throw undecided('Waiting was interrupted', cause);
  }
}

export async function claimTransfer<Done>(run: TransferRun<Done>, transfer: SavedTransfer): Promise<Done> {
  const saved = await withSignature(run, transfer);
  const body = {
    intent_id: saved.intent_id,
    tx_hash: readHash(saved.tx_hash ?? ''),
    payer_signature: saved.payer_signature ?? '0x',
  };
  const about = { intentId: saved.intent_id, txHash: body.tx_hash };
  try {
    return await repeatUntilDecided<Done>(run, {
      ask: withSlip(saved.recovery_slip, (slip) => run.claim(body, slip)),
      seen: (pending, error) => reportTransfer(run, 'pending', { ...about, ...progressOf(pending, error) }),
      undecided: (detail, cause) => new TransferUndecided(detail, saved, cause),
      refused: (error) => new TransferRefused(saved, error),
    });
  } catch (error) {
    if (error instanceof TransferRefused) await recordRefusal(run, saved, error);
    throw error;
  }
}

/** If the market has lost the intent, repeats the request with the recovery slip, and sends the slip from then on. */
function withSlip<T>(slip: string | undefined, ask: (shown?: string) => Promise<T>): () => Promise<T> {
  let shown: string | undefined;
  return async () => {
    try {
      return await ask(shown);
    } catch (error) {
      const isUnknown = error instanceof MarketError && error.reason === 'intent_not_found';
      if (!isUnknown || slip === undefined || shown !== undefined) throw error;
      shown = slip;
      return await ask(shown);
    }
  };
}

async function withSignature(run: TransferRun, saved: SavedTransfer): Promise<SavedTransfer> {
  if (saved.payer_signature !== null) return saved;
  const signed = { ...saved, payer_signature: await run.options.wallet.signMessage({ message: saved.challenge }) };
  await run.store.save(run.storeKey, signed);
  return signed;
}

/** Records a refused signature or hash, so that it isn't sent again. The transfer itself stays saved. */
async function recordRefusal(run: TransferRun, saved: SavedTransfer, { reason }: TransferRefused): Promise<void> {
  if (reason === 'signature_invalid') await run.store.save(run.storeKey, { ...saved, payer_signature: null });
  if (reason === 'transaction_used') await run.store.save(run.storeKey, { ...saved, hash_used_elsewhere: true });
}

/** Returns the progress details of an interim answer. */
export function progressOf(pending: Pending | null, error: unknown) {
  const payment = pending?.payment ?? paymentIn(error);
  const estimate = pending?.estimate_seconds ?? null;
  return {
    ...(payment === undefined ? {} : { payment }),
    ...(estimate === null ? {} : { estimateSeconds: estimate }),
  };
}
