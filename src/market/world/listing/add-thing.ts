import { usdcOfUnits } from '../../../contract/money.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../../../platform/database/database-error.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { LISTINGS_LOCK } from '../../listings/add-listing.ts';
import { holdWallet, markListed } from '../drafts/store.ts';
import { insertThing } from './store.ts';
import type { ThingToAdd } from './thing-to-add.ts';

/** Puts a thing on the shelf, with the event that says so, and ends its draft. The draft's row is locked before the lock `listings`. */
export async function addThing(tx: Tx, market: Market, { draft, offer, bodyHash, feeId }: ThingToAdd): Promise<bigint> {
  await tx.lock(LISTINGS_LOCK);
  const at = new Date(market.clock.now());
  await holdWallet(tx, draft.sellerWallet);
  const listingId = await insert(tx, { draft, offer, bodyHash, feeId, at });
  await recordEvent(tx, market, {
    kind: feeId === null ? 'maintainer_seed' : 'listing',
    actor: draft.seller,
    detail: {
      listing_id: Number(listingId),
      merchant_id: Number(draft.merchantId),
      price_usdc: usdcOfUnits(draft.priceUnits),
      aisle: 'world',
      offer_id: offer.offer_id,
    },
  });
  return listingId;
}

async function insert(tx: Tx, given: ThingToAdd & { at: Date }): Promise<bigint> {
  const { draft, offer, at } = given;
  try {
    const listingId = await insertThing(tx, given);
    await markListed(tx, draft.id, { listingId, offerId: BigInt(offer.offer_id), at });
    return listingId;
  } catch (error) {
    if (isForeignKeyViolation(error, 'listings_seller_wallet_wallet_kind_fkey')) throw new Refusal('wallet_in_use');
    if (isUniqueViolation(error, 'world_listings_city_origin_offer_id_key')) {
      throw new Refusal('offer_mismatch', { detail: 'That offer is listed already.' });
    }
    throw error;
  }
}
