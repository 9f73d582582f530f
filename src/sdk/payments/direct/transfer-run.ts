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

/** One thing to be paid for by a transfer, whatever it is. */
export interface TransferFlow<Done> {
  options: TransferOptions;
  storeKey: string;
  tipUnits: bigint;
  /** Before anything is opened: what to expect of the intent, or what came without a payment. */
  agree(run: TransferRun<Done>): Promise<{ terms: TransferTerms } | { done: Done }>;
  openIntent(): Promise<{ intent: Intent; isNew: boolean }>;
  /** Whether the market would take that signature of the intent's challenge. Null: it has not said. */
  checkSignature(body: { intent_id: string; payer_signature: string }): Promise<boolean | null>;
  claim(body: ClaimBody, recoverySlip?: string): Promise<Answer<Done>>;
}

/** How far it has come in this process. */
export interface TransferRun<Done = unknown> extends TransferFlow<Done> {
  store: TransferStore;
  /** The store outlives the process: what is not in it was not sent by any process that uses it. */
  durable: boolean;
  startedMs: number;
}

export interface Begun<Done> {
  run: TransferRun<Done>;
  saved: SavedTransfer | null;
}

/** Picks up a transfer that was begun earlier, if there is one. */
export async function beginTransferRun<Done>(flow: TransferFlow<Done>): Promise<Begun<Done>> {
  const { client, store: given } = flow.options;
  const store = given ?? transferMemoryOf(client).store;
  const run = { ...flow, store, durable: given !== undefined, startedMs: client.environment.now() };
  return { run, saved: await loadTransfer(store, flow.storeKey) };
}

/** An intent is paid for once, also where several calls are shown the same one, as those for listing fees are. */
export function intentKey(run: TransferRun, intentId: string): string {
  return `${run.options.client.baseUrl} transfer for ${intentId}`;
}

/** Only for a transfer that was never sent. */
export async function forgetTransfer(run: TransferRun, saved: SavedTransfer): Promise<void> {
  await run.store.clear(run.storeKey);
  await run.store.clear(intentKey(run, saved.intent_id));
}

export function soughtOf(saved: SavedTransfer): SoughtTransfer {
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

/** A transaction's hash as the market compares it. */
export function readHash(given: string): Hex {
  if (!isHash(given)) throw new TypeError('a transaction hash is 0x and 64 hex digits');
  return given.toLowerCase() as Hex;
}

interface Waiting<Done> {
  ask(): Promise<Answer<Done>>;
  /** Told of each answer that is not the last. */
  seen(pending: Pending | null, error: unknown): void;
  /** What to throw when waiting ends first. */
  undecided(detail: string, cause: unknown): unknown;
  /** What to throw when the market refuses. */
  refused(error: MarketError): unknown;
}

/** Unreadable answers are borne this often in a row; silence, and a proxy that does not reach the market, as long as the caller's patience lasts. */
const PATIENCE_UNREADABLE = 6;

/** Sends the same request until it is decided, at the pace that the market asks for. */
export async function waitOut<Done>(run: TransferRun, waiting: Waiting<Done>): Promise<Done> {
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
      stopUnlessPassing(caught, failures, waiting);
    }
    waiting.seen(pending, error);
    const seconds = pauseSeconds(pending?.retry_after_seconds ?? null, error, failures);
    await pauseRun(run, seconds, (detail, cause) => waiting.undecided(detail, cause ?? error));
  }
}

function stopUnlessPassing(error: unknown, failures: number, waiting: Pick<Waiting<never>, 'undecided' | 'refused'>) {
  if (error instanceof MarketError) {
    if (!mayPass(error)) throw waiting.refused(error);
    return;
  }
  if (!(error instanceof UnreadableAnswer)) throw error;
  if (error.why !== 'no_answer' && !isGatewayFault(error) && failures >= PATIENCE_UNREADABLE) {
    throw waiting.undecided('The market cannot be understood', error);
  }
}

/** The same request may be answered otherwise later. */
export function mayPass(error: MarketError): boolean {
  const { retry } = error.problem;
  const passing = error.status >= 500 || error.status === 429 || error.reason === 'payment_undecided';
  return passing && (retry === 'same_request' || retry === 'same_proof');
}

/** Sleeps, unless the caller's patience ends before. */
export async function pauseRun(
  run: TransferRun,
  seconds: number,
  undecided: (detail: string, cause?: unknown) => unknown,
): Promise<void> {
  const { client, maxWaitSeconds = DEFAULT_WAIT_SECONDS, signal } = run.options;
  const { environment } = client;
  if (environment.now() + seconds * 1_000 > run.startedMs + maxWaitSeconds * 1_000) throw undecided('The wait is over');
  try {
    await environment.sleep(seconds * 1_000, signal);
  } catch (cause) {
    throw undecided('The wait was broken off', cause);
  }
}

/** Sends the same claim until it is decided. */
export async function claimTransfer<Done>(run: TransferRun<Done>, transfer: SavedTransfer): Promise<Done> {
  const saved = await withSignature(run, transfer);
  const body = {
    intent_id: saved.intent_id,
    tx_hash: readHash(saved.tx_hash ?? ''),
    payer_signature: saved.payer_signature ?? '0x',
  };
  const about = { intentId: saved.intent_id, txHash: body.tx_hash };
  try {
    return await waitOut<Done>(run, {
      ask: withSlip(saved.recovery_slip, (slip) => run.claim(body, slip)),
      seen: (pending, error) => reportTransfer(run, 'pending', { ...about, ...seenIn(pending, error) }),
      undecided: (detail, cause) => new TransferUndecided(detail, saved, cause),
      refused: (error) => new TransferRefused(saved, error),
    });
  } catch (error) {
    if (error instanceof TransferRefused) await noteRefusal(run, saved, error);
    throw error;
  }
}

/** A market that has lost the intent takes it back by the slip: the same is asked once more with it, and so from then on. */
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

/** The transfer stays what it was. A signature that is none is not sent again. */
async function noteRefusal(run: TransferRun, saved: SavedTransfer, { reason }: TransferRefused): Promise<void> {
  if (reason === 'signature_invalid') await run.store.save(run.storeKey, { ...saved, payer_signature: null });
  if (reason === 'transaction_used') await run.store.save(run.storeKey, { ...saved, hash_used_elsewhere: true });
}

/** What an answer that is not the last tells of the payment. */
export function seenIn(pending: Pending | null, error: unknown) {
  const payment = pending?.payment ?? paymentIn(error);
  const estimate = pending?.estimate_seconds ?? null;
  return {
    ...(payment === undefined ? {} : { payment }),
    ...(estimate === null ? {} : { estimateSeconds: estimate }),
  };
}
