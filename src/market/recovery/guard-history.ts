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
import { MOST_DRIFT_MS } from '../payments/paths/direct/intents.ts';
import { type Intent, insertIntent } from '../payments/paths/direct/store.ts';
import { RECENT_RECOVERY_MS } from '../payments/proof-store.ts';
import { type IntentSlip, type PaymentSlip, readSlip } from '../payments/recovery-slip.ts';
import * as store from './store.ts';
import { isLocked, type MarketLosses, readLosses } from './store.ts';

/**
 * A payment or an intent that was lost stands in the books again as it was opened, and goes on from there by the chain's evidence like
 * every other: the slip says only that this market once opened it, and on which terms. The collector still has to show the key, the
 * token or the payer's signature. The database is asked only where this process knows of a recovery after it; one that has not heard of
 * it yet answers as if there were no slip, and the next request brings it again.
 */
export async function takeBack(
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
  // What the books lack without a recovery after it was never lost.
  if (recoveredAt === null || recoveredAt <= slip.createdAt) return;
  await market.database.transaction(async (tx) => {
    // What was heard of may have been lost again.
    if (!(await store.wasRecoveredSince(tx, slip.createdAt))) return;
    if (!(await isForSale(tx, slip))) return;
    await tx.lock(`slip:${slip.payee}:${slip.nonce}`);
    if (slip.kind === 'intent') await putIntent(tx, slip);
    else await putPayment(tx, slip, new Date(market.clock.now()));
  });
}

/** An intent has its time from the chain, in whole seconds, and the rows of the books have theirs from the clock. */
const INTENT_BEHIND_MS = MOST_DRIFT_MS + 1_000;

function openedBy({ kind, createdAt }: PaymentSlip | IntentSlip): Date {
  return kind === 'intent' ? new Date(createdAt.getTime() + INTENT_BEHIND_MS) : createdAt;
}

/** A fee is for no listing. */
async function isForSale(tx: Tx, slip: PaymentSlip | IntentSlip): Promise<boolean> {
  const { listingId, payee } = slip;
  const at = openedBy(slip);
  const priceUnits = slip.kind === 'intent' ? slip.minimumUnits : slip.valueUnits;
  return listingId === null || (await store.hasListing(tx, { listingId, payee, priceUnits, at }));
}

async function putIntent(tx: Tx, slip: IntentSlip): Promise<void> {
  if (!(await store.hasMerchant(tx, slip.merchantId, openedBy(slip))) || (await store.hasIntent(tx, slip.id))) return;
  const { kind: _, ...intent } = slip;
  await insertIntent(tx, { ...intent, exactUnits: null } satisfies Intent);
}

async function putPayment(tx: Tx, slip: PaymentSlip, now: Date): Promise<void> {
  // Its money has gone back.
  if (await store.wasRefunded(tx, slip.id)) return;
  const isKnown = slip.merchantId !== null && (await store.hasMerchant(tx, slip.merchantId, openedBy(slip)));
  // A fee is its merchant's; goods are collected by the payer's signature, where the account is gone.
  if (!isKnown && slip.purpose === 'listing_fee') return;
  await store.putPayment(tx, {
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

/** Reads without a key that tell of one payment: where its row was lost they would say that there is none. */
const PAYMENT_STATUS_READS: ReadonlySet<EndpointName> = new Set(['getPayment', 'getWorldDraft', 'getWorldCheckout']);

/** Whether it is answered from the books as they stand also while history is lost: only what is public and tells of no payment. */
function isPublicRead(name: EndpointName): boolean {
  const { method, auth } = endpoints[name];
  return method === 'GET' && (auth === 'public' || auth === 'audit') && !PAYMENT_STATUS_READS.has(name);
}

type LossState = Pick<MarketHistory, 'isLost' | 'hasLocks' | 'recoveredAt'>;

const isWrite = (name: EndpointName): boolean => endpoints[name].method !== 'GET';

/** After a recovery without a copy it is unknown whose key was replaced. Replacing it needs no caller, so it is never held up. */
async function isLockedOut(market: Market, caller: Merchant | null | undefined): Promise<boolean> {
  return caller !== null && caller !== undefined && (await isLocked(market.database, caller.id));
}

/**
 * What was lost is taken back before it is asked about. While history is lost nothing is written, and no caller is told of a payment from
 * books that may lack it.
 */
export function guardHistory(history: LossState, operations: MarketOperations): MarketOperations {
  const { isLost, hasLocks, recoveredAt } = history;
  const guarded = Object.entries(operations).map(([name, operation]) => {
    if (isPublicRead(name as EndpointName)) return [name, operation];
    // Each operation has types of its own, which a table of them can only be walked without.
    const act = operation as unknown as AnyOperation;
    const guardedOperation: AnyOperation = async (market, call) => {
      if (isLost()) throw historyLost();
      if (hasLocks() && isWrite(name as EndpointName) && (await isLockedOut(market, call.caller))) {
        throw new Refusal('rotation_required');
      }
      const { recoverySlip } = call.payment;
      if (recoverySlip !== null && isWrite(name as EndpointName)) {
        await takeBack(market, recoverySlip, recoveredAt());
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

/** What the database refuses by itself, before this process has heard of it; and whatever else means that it cannot answer now. */
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
  /** Whether a buyer may have paid for what the books do not hold, and may pay again. */
  hasRecentRecovery(): boolean;
  /** When the last recovery was, as far as this process has heard; null: of none. It hears of one together with the loss's end. */
  recoveredAt(): Date | null;
}

interface HistoryDependencies {
  database: Database;
  clock: Clock;
  log: Log;
  /** Null: this process keeps no copy and only hears of what others notice. */
  place: LogCopyPlace | null;
  events: Pick<EventTail, 'version'>;
  /** Reloaded when the database holds another history. */
  catalog: Pick<Catalog, 'reload'>;
}

/** The public log is the market's memory. */
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
