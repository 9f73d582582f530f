import { newListing } from '../../../contract/listings.ts';
import { MAINTAINER_MERCHANT_ID } from '../../../contract/vocabulary.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import type { Completion } from '../../payments/completion.ts';
import type { Payment } from '../../payments/payment.ts';
import { addListing, LISTINGS_LOCK, type ListingToAdd } from '../add-listing.ts';
import { shapeOf } from '../near/shape.ts';
import { MEMORY_MS, readGoods, readVersion } from '../read-goods.ts';
import { dropGuard, passGuard, takePending } from '../store.ts';
import { findListingOfFee, insertFee } from './store.ts';

/** Lists what a fee was paid for. A Refusal says why that can not be any more; then nothing of it is done. */
type ListAfterFee = (tx: Tx, feeId: bigint) => Promise<void>;

/** How a fee keeps a thing of a city; handed in by create-market.ts, as things are built upon listings and not the other way round. */
export interface ThingFees {
  /** Keeps the draft until the end of the transaction. `body` is what was stored when the fee was opened. */
  take(tx: Tx, payment: Payment, held: { draftId: bigint; body: Buffer }): Promise<ListAfterFee>;
  /** The fee makes no listing: the draft goes on if its time is not over, and its wallet is free. */
  release(tx: Tx, draftId: bigint): Promise<void>;
}

/** What a listing fee does once it is final: one line in the books, and the listing that it was paid for. */
export function completeFee(market: Market, things: ThingFees): Completion {
  return {
    listingOf: (queryable, payment) => findListingOfFee(queryable, payment.id),
    deciderOf: async () => BigInt(MAINTAINER_MERCHANT_ID),
    lockSubject: async () => ({ removedAt: null, sellerId: null }),
    complete: async (tx, payment, { transfer }) => {
      const pending = await takePending(tx, payment.id);
      if (pending === null) {
        // Taken back into the books after its body was lost (W16): a credit.
        await tx.lock(LISTINGS_LOCK);
        await insertFee(tx, payment, transfer, new Date(market.clock.now()));
        return;
      }
      const { draftId, body } = pending;
      const list =
        draftId === null ? listingOfGoods(market, payment, body) : await things.take(tx, payment, { draftId, body });
      await tx.lock(LISTINGS_LOCK);
      const feeId = await insertFee(tx, payment, transfer, new Date(market.clock.now()));
      if (await goesLive(tx, market, payment, () => list(tx, feeId))) return;
      await release(tx, things, payment, draftId);
    },
    // What was held went when the review began: the fee is a credit.
    completeReviewed: async (tx, payment, { transfer }) => {
      if (transfer === null) {
        throw new Refusal('not_deliverable', {
          detail: 'Another fee was paid in the same transaction. Refund or decline it.',
        });
      }
      await tx.lock(LISTINGS_LOCK);
      await insertFee(tx, payment, transfer, new Date(market.clock.now()));
    },
    endUncompleted: async (tx, payment) => {
      const pending = await takePending(tx, payment.id);
      await release(tx, things, payment, pending?.draftId ?? null);
    },
  };
}

async function release(tx: Tx, things: ThingFees, payment: Payment, draftId: bigint | null): Promise<void> {
  if (draftId === null) await dropGuard(tx, payment.id);
  else await things.release(tx, draftId);
}

/** False where it cannot be listed any more: then the fee stays unspent and is a credit. */
async function goesLive(tx: Tx, market: Market, payment: Payment, list: () => Promise<void>): Promise<boolean> {
  try {
    await tx.savepoint(list);
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    market.log.warn('fee_became_credit', { payment_id: payment.id, reason: error.reason });
    return false;
  }
}

/** What takes its time with big goods is done here, before there is a lock. */
function listingOfGoods(market: Market, payment: Payment, body: Buffer): ListAfterFee {
  const goods = readStored(payment, body);
  return async (tx, feeId) => {
    if (goods instanceof Refusal) throw goods;
    const { id } = await addListing(tx, market, { ...goods, feeId });
    await passGuard(tx, payment.id, id, new Date(market.clock.now() + MEMORY_MS));
  };
}

/** The goods that were paid for; or why the rules of today, stricter perhaps than those under which the fee was asked, refuse them. */
function readStored(payment: Payment, body: Buffer): Omit<ListingToAdd, 'feeId'> | Refusal {
  const { merchantId, bodyHash } = payment;
  if (merchantId === null || bodyHash === null) throw new TypeError('a listing fee without a merchant');
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
