import { usdcOfUnits } from '../../contract/money.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import type { Tx } from '../../platform/database/database.ts';
import { isForeignKeyViolation } from '../../platform/database/database-error.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import type { Goods } from './read-goods.ts';
import { findHandle, insertListing } from './store.ts';

/** The lock under which listings and fees get their ids. */
export const LISTINGS_LOCK = 'listings';

export interface ListingToAdd {
  merchantId: bigint;
  goods: Goods;
  bodyHash: Buffer;
  /** Null only for the maintainer, whose free listings are logged as such. */
  feeId: bigint | null;
}

/** Puts goods on the shelf, with the event that says so. The salt keeps the commitment from being guessed before the sale. */
export async function addListing(tx: Tx, market: Market, given: ListingToAdd): Promise<bigint> {
  const salt = market.random.bytes(32);
  await tx.lock(LISTINGS_LOCK);
  const id = await insertRow(tx, {
    ...given,
    salt,
    commitment: sha256(salt, given.goods.content),
    now: new Date(market.clock.now()),
  });
  await recordEvent(tx, market, {
    kind: given.feeId === null ? 'maintainer_seed' : 'listing',
    actor: await findHandle(tx, given.merchantId),
    detail: {
      listing_id: Number(id),
      merchant_id: Number(given.merchantId),
      price_usdc: usdcOfUnits(given.goods.priceUnits),
      aisle: given.goods.aisle,
    },
  });
  return id;
}

async function insertRow(tx: Tx, row: Parameters<typeof insertListing>[1]): Promise<bigint> {
  try {
    return await insertListing(tx, row);
  } catch (error) {
    if (isForeignKeyViolation(error)) throw new Refusal('wallet_in_use');
    throw error;
  }
}
