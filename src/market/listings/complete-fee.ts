import { newListing } from '../../contract/listings.ts';
import { MAINTAINER_MERCHANT_ID, REQUEST_MEMORY_DAYS } from '../../contract/vocabulary.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { findListingOfFee, insertFee } from '../fees/store.ts';
import type { Completion } from '../payments/completion.ts';
import type { Payment } from '../payments/payment.ts';
import { addListing, LISTINGS_LOCK } from './add-listing.ts';
import { readGoods } from './read-goods.ts';
import { dropGuard, passGuard, takePending } from './store.ts';

export const MEMORY_MS = REQUEST_MEMORY_DAYS * 86_400_000;

/** What a listing fee does once it is final: one line in the books, and the listing that it was paid for. */
export function completeFee(market: Market): Completion {
  return {
    listingOf: (queryable, payment) => findListingOfFee(queryable, payment.id),
    deciderOf: async () => BigInt(MAINTAINER_MERCHANT_ID),
    lockSubject: async () => ({ removedAt: null }),
    complete: async (tx, payment, transfer) => {
      await tx.lock(LISTINGS_LOCK);
      const feeId = await insertFee(tx, payment, transfer, new Date(market.clock.now()));
      await goLive(tx, market, payment, feeId);
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

/** The paid listing; where it cannot be made any more, the fee stays unspent and is a credit. */
async function goLive(tx: Tx, market: Market, payment: Payment, feeId: bigint): Promise<void> {
  const body = await takePending(tx, payment.id);
  if (body === null || payment.merchantId === null || payment.bodyHash === null) {
    throw new TypeError('a listing fee without its listing');
  }
  const { merchantId, bodyHash } = payment;
  try {
    await tx.savepoint(async () => {
      // The ceiling was checked when the fee was asked; a lower one since then must not take the goods for which it was paid.
      const stored = newListing.safeParse(JSON.parse(body.toString('utf8')));
      // The rules of a later version may be stricter than those under which the fee was asked.
      if (!stored.success) throw new Refusal('invalid_fields');
      const goods = readGoods(stored.data, { artifact_bytes: Number.MAX_SAFE_INTEGER });
      const id = await addListing(tx, market, { merchantId, goods, bodyHash, feeId });
      await passGuard(tx, payment.id, id, new Date(market.clock.now() + MEMORY_MS));
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    market.log.warn('fee_became_credit', { payment_id: payment.id, reason: error.reason });
    await dropGuard(tx, payment.id);
  }
}
