import { checksummed } from '../../contract/chain-values.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { Aisle } from '../../contract/vocabulary.ts';
import type { Tx } from '../../platform/database/database.ts';
import { isForeignKeyViolation } from '../../platform/database/database-error.ts';
import { type Hex, toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkVersion } from './check-goods.ts';
import { sealContent } from './goods-content.ts';
import { passUpload } from './named-upload.ts';
import type { Fingerprint } from './near/fingerprint.ts';
import { checkNear } from './near/near-guard.ts';
import { insertFingerprint } from './near/store.ts';
import type { Goods, Version } from './read-goods.ts';
import { findHandle, insertListing } from './store.ts';

/**
 * Under this lock listings and fees get their ids, and a transaction that lists goods checks that no other listing has nearly the same
 * goods. A transaction that takes several locks to create a listing, or to end its fee, takes them in this order, which prevents deadlocks:
 * `fees:` or `credits:` of the merchant, or `world_drafts`; the payment's row; the upload's row, or the draft's row; this lock;
 * `world_wallet:` and then the wallet's row; rows of older versions; rows of the exact guard. MONEY.md lists the order for all transactions.
 */
export const LISTINGS_LOCK = 'listings';

export interface ListingToAdd {
  merchantId: bigint;
  goods: Goods;
  /** Fingerprint of the goods. Computed before the lock is taken, because a big artifact takes time. */
  fingerprint: Fingerprint | null;
  version: Version | null;
  bodyHash: Buffer;
  /** Null only for the maintainer, whose free listings are logged as such. */
  feeId: bigint | null;
  /** The fee that holds the bytes of uploaded goods. Null if the upload still has them. */
  heldBy: bigint | null;
}

export interface AddedListing {
  id: bigint;
  /** The older versions, whose duplicate-guard entry the new listing may take over. */
  versionChain: readonly bigint[];
}

/**
 * Lists goods and records the event. Repeats the checks made before the fee was requested, because other transactions may have committed
 * since. The salt keeps anyone from guessing the goods by their commitment before the sale. Call it with the upload's row locked.
 */
export async function addListing(tx: Tx, market: Market, listing: ListingToAdd): Promise<AddedListing> {
  const { fingerprint, version, heldBy } = listing;
  const { content } = listing.goods;
  const { salt, commitment } = sealContent(market, content);
  const now = new Date(market.clock.now());
  await tx.lock(LISTINGS_LOCK);
  const versionChain = await checkVersion(tx, listing.merchantId, version);
  await checkNear(tx, market, fingerprint, versionChain);
  const id = await insertRow(tx, {
    ...listing,
    chainId: market.config.network.chainId,
    salt,
    commitment,
    now,
  });
  if (!Buffer.isBuffer(content)) {
    await passUpload(tx, { objectId: content.objectId, paymentId: heldBy, listingId: id, now });
  }
  if (fingerprint !== null) insertFingerprint(tx, id, fingerprint);
  await recordListing(tx, market, {
    id,
    merchantId: listing.merchantId,
    feeId: listing.feeId,
    priceUnits: listing.goods.priceUnits,
    sellerWallet: listing.goods.sellerWallet,
    aisle: listing.goods.aisle,
    about: {
      artifact_commitment: toHex(commitment),
      ...(version === null ? {} : { supersedes: Number(version.supersedes) }),
    },
  });
  return { id, versionChain };
}

export interface Listed {
  id: bigint;
  merchantId: bigint;
  feeId: bigint | null;
  priceUnits: bigint;
  sellerWallet: Hex;
  aisle: Aisle;
  /** Additional event fields: the commitment to the goods, or ids of what the listing comes from. */
  about: Readonly<Record<string, number | string>>;
}

/** Records the event of a new listing with its price, its wallet and `about`, so that an auditor can compare every sale with it. */
export async function recordListing(tx: Tx, market: Market, listed: Listed): Promise<void> {
  await recordEvent(tx, market, {
    kind: listed.feeId === null ? 'maintainer_seed' : 'listing',
    actor: await findHandle(tx, listed.merchantId),
    detail: {
      listing_id: Number(listed.id),
      merchant_id: Number(listed.merchantId),
      price_usdc: usdcOfUnits(listed.priceUnits),
      seller_wallet: checksummed(listed.sellerWallet),
      aisle: listed.aisle,
      ...listed.about,
    },
  });
}

async function insertRow(tx: Tx, row: Parameters<typeof insertListing>[1]): Promise<bigint> {
  try {
    return await insertListing(tx, row);
  } catch (error) {
    if (isForeignKeyViolation(error, 'listings_seller_wallet_wallet_kind_fkey')) throw new Refusal('wallet_in_use');
    throw error;
  }
}
