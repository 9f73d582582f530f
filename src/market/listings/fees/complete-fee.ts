import { newListing } from '../../../contract/listings.ts';
import { MAINTAINER_MERCHANT_ID } from '../../../contract/vocabulary.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { releaseUpload } from '../../goods/uploads/store.ts';
import type { Completion } from '../../payments/completion.ts';
import type { Payment } from '../../payments/payment.ts';
import { addListing, LISTINGS_LOCK, type ListingToAdd } from '../add-listing.ts';
import { shapeOf } from '../goods-content.ts';
import { releasedUntil, takeHeldUpload } from '../named-upload.ts';
import { REPEAT_WINDOW_MS, readGoods, readVersion } from '../read-goods.ts';
import { type PendingListing, passGuardEntry, releaseGuardEntry, takePending } from '../store.ts';
import { findListingOfFee, insertFee } from './store.ts';

/** Lists what a fee was paid for. Throws a Refusal if that has become impossible; the caller then rolls back the changes. */
type ListAfterFee = (tx: Tx, feeId: bigint) => Promise<void>;

/** Handles the fees of things. create-market.ts passes it in, because the code for things depends on listings and not vice versa. */
export interface ThingFees {
  /** Locks the draft until the transaction ends. `body` was stored when the fee was opened. */
  take(tx: Tx, payment: Payment, pending: { draftId: bigint; body: Buffer }): Promise<ListAfterFee>;
  /** Called if the fee makes no listing. Reopens the draft, or ends it if it has expired, and frees its wallet. */
  release(tx: Tx, draftId: bigint): Promise<void>;
}

export function completeFee(market: Market, things: ThingFees): Completion {
  return {
    listingOf: (queryable, payment) => findListingOfFee(queryable, payment.id),
    deciderOf: async () => BigInt(MAINTAINER_MERCHANT_ID),
    lockSubject: async () => ({ removedAt: null, sellerId: null }),
    complete: async (tx, payment, { transfer }) => {
      const pending = await takePending(tx, payment.id);
      if (pending === null) {
        // The payment was restored from a recovery slip, but its body was lost, so the fee becomes a credit.
        await tx.lock(LISTINGS_LOCK);
        await insertFee(tx, payment, transfer, new Date(market.clock.now()));
        return;
      }
      const { draftId, body } = pending;
      const list =
        draftId === null
          ? await listingOfGoods(tx, market, payment, pending)
          : await things.take(tx, payment, { draftId, body });
      await tx.lock(LISTINGS_LOCK);
      const feeId = await insertFee(tx, payment, transfer, new Date(market.clock.now()));
      if (await tryToList(tx, market, payment, () => list(tx, feeId))) return;
      await releaseHeld(tx, { market, things }, payment, draftId);
    },
    // The guard entry, upload or draft was released when the review began, so the fee becomes a credit.
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
      await releaseHeld(tx, { market, things }, payment, pending?.draftId ?? null);
    },
  };
}

async function releaseHeld(
  tx: Tx,
  { market, things }: { market: Market; things: ThingFees },
  payment: Payment,
  draftId: bigint | null,
): Promise<void> {
  if (draftId !== null) return await things.release(tx, draftId);
  await releaseUpload(tx, payment.id, releasedUntil(market.clock.now()));
  await releaseGuardEntry(tx, payment.id);
}

/** Returns false if the listing has become impossible. Then the fee stays unspent, as a credit. */
async function tryToList(tx: Tx, market: Market, payment: Payment, list: () => Promise<void>): Promise<boolean> {
  try {
    await tx.savepoint(list);
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    market.log.warn('fee_became_credit', { payment_id: payment.id, reason: error.reason });
    return false;
  }
}

/** Parses and fingerprints the goods at once, before the caller takes the lock `listings`, because big goods take time. */
async function listingOfGoods(
  tx: Tx,
  market: Market,
  payment: Payment,
  pending: PendingListing,
): Promise<ListAfterFee> {
  const goods = await readStoredGoods(tx, payment, pending);
  return async (tx, feeId) => {
    if (goods instanceof Refusal) throw goods;
    const { id } = await addListing(tx, market, { ...goods, feeId, heldBy: payment.id });
    await passGuardEntry(tx, payment.id, id, new Date(market.clock.now() + REPEAT_WINDOW_MS));
  };
}

/** Reads the paid goods, or returns the refusal under today's rules, which may be stricter than when the fee was requested. */
async function readStoredGoods(
  tx: Tx,
  payment: Payment,
  { body, shape = null }: PendingListing,
): Promise<Omit<ListingToAdd, 'feeId' | 'heldBy'> | Refusal> {
  const { merchantId, bodyHash } = payment;
  if (merchantId === null || bodyHash === null) throw new TypeError('a listing fee without a merchant');
  const stored = newListing.safeParse(JSON.parse(body.toString('utf8')));
  if (!stored.success) return new Refusal('invalid_fields');
  try {
    const isUpload = stored.data.artifact_upload !== undefined;
    const upload = isUpload ? await takeHeldUpload(tx, payment.id) : null;
    // The size limit was checked when the fee was requested. A limit lowered since must not refuse paid goods.
    const goods = readGoods(stored.data, { artifact_bytes: Number.MAX_SAFE_INTEGER }, upload);
    return {
      merchantId,
      goods,
      // The bytes of an upload may be in another store, which is not called within a transaction.
      fingerprint: isUpload ? shape : shapeOf(goods.content),
      version: readVersion(stored.data),
      bodyHash,
    };
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
