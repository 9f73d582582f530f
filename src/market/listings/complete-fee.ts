import { newListing } from '../../contract/listings.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { findListingOfFee, insertFee } from '../fees/store.ts';
import type { Completion } from '../payments/completion.ts';
import type { Payment } from '../payments/payment.ts';
import { addListing, LISTINGS_LOCK, type ListingToAdd } from './add-listing.ts';
import { MEMORY_MS } from './memory.ts';
import { shapeOf } from './near/shape.ts';
import { readGoods } from './read-goods.ts';
import { readVersion } from './read-version.ts';
import { dropGuard, passGuard, takePending } from './store.ts';

/** What a listing fee does once it is final: one line in the books, and the listing that it was paid for. */
export function completeFee(market: Market): Completion {
  return {
    listingOf: (queryable, payment) => findListingOfFee(queryable, payment.id),
    deciderOf: async () => BigInt(MAINTAINER_MERCHANT_ID),
    lockSubject: async () => ({ removedAt: null }),
    complete: async (tx, payment, transfer) => {
      const pending = await takeListing(tx, payment);
      await tx.lock(LISTINGS_LOCK);
      const feeId = await insertFee(tx, payment, transfer, new Date(market.clock.now()));
      await goLive(tx, market, payment, { pending, feeId });
    },
    // The goods went when the review began: the fee is a credit.
    completeReviewed: async (tx, payment, transfer) => {
      if (transfer === null) {
        throw new Refusal('not_deliverable', {
          detail: 'Another fee was paid in the same transaction. Refund or decline it.',
        });
      }
      await tx.lock(LISTINGS_LOCK);
      await insertFee(tx, payment, transfer, new Date(market.clock.now()));
    },
    endUncompleted: async (tx, payment) => {
      await takePending(tx, payment.id);
      await dropGuard(tx, payment.id);
    },
  };
}

type Pending = Omit<ListingToAdd, 'feeId'>;

/** The listing that was paid for; or why the rules of today, stricter perhaps than those under which the fee was asked, refuse it. */
async function takeListing(tx: Tx, payment: Payment): Promise<Pending | Refusal> {
  const body = await takePending(tx, payment.id);
  if (body === null || payment.merchantId === null || payment.bodyHash === null) {
    throw new TypeError('a listing fee without its listing');
  }
  const { merchantId, bodyHash } = payment;
  const stored = newListing.safeParse(JSON.parse(body.toString('utf8')));
  if (!stored.success) return new Refusal('invalid_fields');
  try {
    // The ceiling was checked when the fee was asked; a lower one since then must not take the goods for which it was paid.
    const goods = readGoods(stored.data, { artifact_bytes: Number.MAX_SAFE_INTEGER });
    return { merchantId, goods, shape: shapeOf(goods.content), version: readVersion(stored.data), bodyHash };
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** The paid listing; where it cannot be made any more, the fee stays unspent and is a credit. */
async function goLive(
  tx: Tx,
  market: Market,
  payment: Payment,
  { pending, feeId }: { pending: Pending | Refusal; feeId: bigint },
): Promise<void> {
  try {
    await tx.savepoint(async () => {
      if (pending instanceof Refusal) throw pending;
      const { id } = await addListing(tx, market, { ...pending, feeId });
      await passGuard(tx, payment.id, id, new Date(market.clock.now() + MEMORY_MS));
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    market.log.warn('fee_became_credit', { payment_id: payment.id, reason: error.reason });
    await dropGuard(tx, payment.id);
  }
}
