import { type Hex, isHash } from 'viem';
import type { z } from 'zod';
import type { pendingAnswer } from '../../../contract/listings.ts';
import type { ClaimBody } from '../../../contract/payments.ts';
import type { Intent, TransferTerms } from './check-intent.ts';
import type { SoughtTransfer, TransferOptions } from './transfer-options.ts';
import type { TransferPhase, TransferProgress } from './transfer-progress.ts';
import { loadTransfer, type SavedTransfer, type TransferStore, transferMemoryOf } from './transfer-store.ts';

export type Pending = z.output<typeof pendingAnswer>;
export type Answer<Done> = { done: Done } | { pending: Pending };

/** One thing to be paid for by a transfer, whatever it is. */
export interface TransferDeal<Done> {
  options: TransferOptions;
  storeKey: string;
  tipUnits: bigint;
  /** Before anything is opened: what to expect of the intent, or what came without a payment. */
  agree(run: TransferRun<Done>): Promise<{ terms: TransferTerms } | { done: Done }>;
  openIntent(): Promise<{ intent: Intent; isNew: boolean }>;
  claim(body: ClaimBody, recoverySlip?: string): Promise<Answer<Done>>;
}

/** How far it has come in this process. */
export interface TransferRun<Done = unknown> extends TransferDeal<Done> {
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
export async function beginTransferRun<Done>(deal: TransferDeal<Done>): Promise<Begun<Done>> {
  const { client, store: given } = deal.options;
  const store = given ?? transferMemoryOf(client).store;
  const run = { ...deal, store, durable: given !== undefined, startedMs: client.environment.now() };
  return { run, saved: await loadTransfer(store, deal.storeKey) };
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
