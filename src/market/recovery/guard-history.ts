import type { Reason } from '../../contract/errors.ts';
import { type EndpointName, type Endpoints, endpoints } from '../../contract/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/database/database.ts';
import { constraintOf } from '../../platform/database/database-error.ts';
import { toBytes } from '../../platform/hex.ts';
import { refuseUnreadable } from '../../platform/http/failure.ts';
import type { ExtraRoute, Operations } from '../../platform/http/server-options.ts';
import type { Log } from '../../platform/log.ts';
import {
  createHistory,
  historyLost,
  type LogCopyPlace,
  refuseLost,
  type History as SiteHistory,
} from '../../platform/log-copy/place.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Market, MarketCall, Merchant } from '../context.ts';
import type { EventTail } from '../events/read-events.ts';
import { MAX_DRIFT_MS } from '../payments/paths/direct/intents.ts';
import { type Intent, insertIntent } from '../payments/paths/direct/store.ts';
import { RECENT_RECOVERY_MS } from '../payments/proof-store.ts';
import { type IntentSlip, type PaymentSlip, readSlip } from '../payments/recovery-slip.ts';
import * as store from './store.ts';
import { isLocked, type MarketLosses, readLosses } from './store.ts';

/**
 * Restores a lost payment or intent from its slip, as it was opened; the chain decides the rest. The slip only proves that this market
 * opened it on these terms, so whoever collects must still show the key, the token or the payer's signature. Queries the database only if
 * this process knows of a recovery after the slip. A process that does not know of it yet answers as if there were no slip, and the client
 * sends the slip again with its next request.
 */
export async function restoreFromSlip(
  market: Pick<Market, 'database' | 'pepper' | 'clock'>,
  text: string,
  recoveredAt: Date | null,
): Promise<void> {
  const slip = readSlip(market, text);
  if (slip === null) {
    throw new Refusal('invalid_fields', {
      errors: [{ path: 'X-Recovery-Slip', message: 'is none that this market gave' }],
    });
  }
  // Without a later recovery nothing was lost, so there is nothing to restore.
  if (recoveredAt === null || recoveredAt <= slip.createdAt) return;
  await market.database.transaction(async (tx) => {
    // The recovery that this process knows of may itself have been lost.
    if (!(await store.wasRecoveredSince(tx, slip.createdAt))) return;
    if (!(await isForSale(tx, slip))) return;
    await tx.lock(`slip:${slip.payee}:${slip.nonce}`);
    if (slip.kind === 'intent') await restoreIntent(tx, slip);
    else await restorePayment(tx, slip, new Date(market.clock.now()));
  });
}

/** Allows for clock skew: an intent's time is in whole seconds and may come from the chain, row times come from our clock. */
const INTENT_BEHIND_MS = MAX_DRIFT_MS + 1_000;

function openedBy({ kind, createdAt }: PaymentSlip | IntentSlip): Date {
  return kind === 'intent' ? new Date(createdAt.getTime() + INTENT_BEHIND_MS) : createdAt;
}

/** Whether the listing that was paid for still exists. A fee has no listing, so it always passes. */
async function isForSale(tx: Tx, slip: PaymentSlip | IntentSlip): Promise<boolean> {
  const { listingId, payee } = slip;
  const at = openedBy(slip);
  const priceUnits = slip.kind === 'intent' ? slip.minimumUnits : slip.valueUnits;
  return listingId === null || (await store.hasListing(tx, { listingId, payee, priceUnits, at }));
}

async function restoreIntent(tx: Tx, slip: IntentSlip): Promise<void> {
  if (!(await store.hasMerchant(tx, slip.merchantId, openedBy(slip))) || (await store.hasIntent(tx, slip.id))) return;
  const { kind: _, ...intent } = slip;
  await insertIntent(tx, { ...intent, exactUnits: null } satisfies Intent);
}

async function restorePayment(tx: Tx, slip: PaymentSlip, now: Date): Promise<void> {
  if (await store.wasRefunded(tx, slip.id)) return;
  const isKnown = slip.merchantId !== null && (await store.hasMerchant(tx, slip.merchantId, openedBy(slip)));
  // A fee needs its merchant. Goods can still be collected with the payer's signature if the account is gone.
  if (!isKnown && slip.purpose === 'listing_fee') return;
  await store.insertLostPayment(tx, {
    ...slip,
    merchantId: isKnown ? slip.merchantId : null,
    bodyHash: slip.bodyHash && toBytes(slip.bodyHash),
    tokenHash: slip.tokenHash && toBytes(slip.tokenHash),
    now,
  });
}

type MarketOperations = Operations<Endpoints, Market, Merchant>;
type AnyOperation = (market: Market, call: MarketCall<Endpoints['getPayment']>) => Promise<unknown>;

const RETRY_SECONDS = 60;

/** Public reads about one payment. If its row is lost, they would report that the payment does not exist. */
const PAYMENT_STATUS_READS: ReadonlySet<EndpointName> = new Set(['getPayment', 'getWorldDraft', 'getWorldCheckout']);

/** Whether this is a read that is answered even while history is lost, because it is public and says nothing about a payment. */
function isPublicRead(name: EndpointName): boolean {
  const { method, auth } = endpoints[name];
  return method === 'GET' && (auth === 'public' || auth === 'audit') && !PAYMENT_STATUS_READS.has(name);
}

type LossState = Pick<MarketHistory, 'isLost' | 'hasLocks' | 'recoveredAt'>;

const isWrite = (name: EndpointName): boolean => endpoints[name].method !== 'GET';

/** Refuses a write by a merchant that must rotate its key first. A request to rotate has no authenticated caller, so it is never blocked. */
export async function refuseLockedOut(
  { hasLocks }: Pick<LossState, 'hasLocks'>,
  { database }: Pick<Market, 'database'>,
  caller: Pick<Merchant, 'id'> | null | undefined,
): Promise<void> {
  if (caller === null || caller === undefined || !hasLocks()) return;
  if (await isLocked(database, caller.id)) throw new Refusal('rotation_required');
}

/**
 * While history is lost, refuses everything but public reads that say nothing about a payment. Refuses writes by merchants that must rotate
 * their key first. If a write brings a recovery slip, restores the payment or intent of the slip before the write.
 */
export function guardHistory(history: LossState, operations: MarketOperations): MarketOperations {
  const { isLost, recoveredAt } = history;
  const guarded = Object.entries(operations).map(([name, operation]) => {
    if (isPublicRead(name as EndpointName)) return [name, operation];
    // Each operation has its own types, which a loop over the table cannot preserve.
    const act = operation as unknown as AnyOperation;
    const guardedOperation: AnyOperation = async (market, call) => {
      if (isLost()) throw historyLost();
      if (isWrite(name as EndpointName)) await refuseLockedOut(history, market, call.caller);
      const { recoverySlip } = call.payment;
      if (recoverySlip !== null && isWrite(name as EndpointName)) {
        await restoreFromSlip(market, recoverySlip, recoveredAt());
      }
      return await act(market, call);
    };
    return [name, guardedOperation];
  });
  return Object.fromEntries(guarded);
}

export function guardMounts(isLost: () => boolean, mounts: readonly ExtraRoute[]): ExtraRoute[] {
  return mounts.map((mount) => ({
    ...mount,
    answer: async (incoming) => {
      if (isLost()) throw historyLost();
      return await mount.answer(incoming);
    },
  }));
}

/** Maps database errors to refusals: clocks that differ, a loss that this process has not noticed, or a database that cannot answer now. */
export function refuseByDatabase(error: unknown, reasons: readonly Reason[]): Refusal | null {
  if (constraintOf(error)?.constraint === 'events_are_of_now') {
    return new Refusal('unavailable', {
      detail: 'The clocks of this server and of its database differ by more than a minute.',
      retryAfterSeconds: RETRY_SECONDS,
    });
  }
  return refuseLost(error) ?? refuseUnreadable(error, reasons);
}

export interface MarketHistory extends Omit<SiteHistory<MarketLosses>, 'losses'> {
  /** Whether some merchants may do nothing but replace their key. */
  hasLocks(): boolean;
  /** Whether a buyer may have paid for something that the database lost, and may pay again. */
  hasRecentRecovery(): boolean;
  /** Time of the last recovery that this process knows of. Null if none. It learns of a recovery together with the end of the loss. */
  recoveredAt(): Date | null;
}

interface HistoryDependencies {
  database: Database;
  clock: Clock;
  log: Log;
  /** Null if this process keeps no copy and relies on what other processes notice. */
  place: LogCopyPlace | null;
  events: Pick<EventTail, 'version'>;
  /** Reloaded if the database turns out to contain another history. */
  catalog: Pick<Catalog, 'reload'>;
}

/** Detects loss of history by comparing the public log with its copy. */
export function createMarketHistory({ events, catalog, ...needs }: HistoryDependencies): MarketHistory {
  const newestId = (): bigint => BigInt(events.version());
  const { losses, ...history } = createHistory({ ...needs, newestId, readLosses, onOtherHistory: catalog.reload });
  const recoveredAt = (): Date | null => losses()?.recoveredAt ?? null;
  return {
    ...history,
    hasLocks: () => losses()?.locks ?? false,
    hasRecentRecovery: () => {
      const at = recoveredAt();
      return at !== null && needs.clock.now() - at.getTime() < RECENT_RECOVERY_MS;
    },
    recoveredAt,
  };
}
