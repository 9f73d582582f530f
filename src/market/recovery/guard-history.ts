import type { Reason } from '../../contract/errors.ts';
import { type EndpointName, type Endpoints, endpoints } from '../../contract/index.ts';
import { constraintOf } from '../../platform/database/database-error.ts';
import { refuseUnreadable } from '../../platform/http/failure.ts';
import type { Mount } from '../../platform/http/mount.ts';
import type { Operations } from '../../platform/http/server-options.ts';
import { historyLost, refuseLost } from '../../platform/log-copy/history-lost.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, Merchant } from '../context.ts';
import type { History } from '../log-copy/history.ts';
import { isLocked } from './store.ts';
import { takeBack } from './take-back.ts';

type MarketOperations = Operations<Endpoints, Market, Merchant>;
type Act = (market: Market, call: MarketCall<Endpoints['getPayment']>) => Promise<unknown>;

const RETRY_SECONDS = 60;

/** Reads without a key that tell of one payment: where its row was lost they would say that there is none. */
const TELL_OF_A_PAYMENT: ReadonlySet<EndpointName> = new Set(['getPayment', 'getWorldDraft', 'getWorldCheckout']);

/** Whether it is answered from the books as they stand also while history is lost: only what is public and tells of no payment. */
function isPublicRead(name: EndpointName): boolean {
  const { method, auth } = endpoints[name];
  return method === 'GET' && (auth === 'public' || auth === 'audit') && !TELL_OF_A_PAYMENT.has(name);
}

type Guarded = Pick<History, 'isLost' | 'hasLocks' | 'recoveredAt'>;

const isWrite = (name: EndpointName): boolean => endpoints[name].method !== 'GET';

/** After a recovery without a copy it is unknown whose key was replaced. Replacing it needs no caller, so it is never held up. */
async function isLockedOut(market: Market, caller: Merchant | null | undefined): Promise<boolean> {
  return caller !== null && caller !== undefined && (await isLocked(market.database, caller.id));
}

/**
 * What was lost is taken back before it is asked about. While history is lost nothing is written, and no caller is told of a payment from
 * books that may lack it.
 */
export function guardHistory(history: Guarded, operations: MarketOperations): MarketOperations {
  const { isLost, hasLocks, recoveredAt } = history;
  const guarded = Object.entries(operations).map(([name, operation]) => {
    if (isPublicRead(name as EndpointName)) return [name, operation];
    // Each operation has types of its own, which a table of them can only be walked without.
    const act = operation as unknown as Act;
    const asked: Act = async (market, call) => {
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
    return [name, asked];
  });
  return Object.fromEntries(guarded);
}

export function guardMounts(isLost: () => boolean, mounts: readonly Mount[]): Mount[] {
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
