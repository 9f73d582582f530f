import sql from 'sql-template-tag';
import type { ListingState } from '../../../contract/vocabulary.ts';
import type { OfferPhase } from '../../../contract/world-records.ts';
import type { FoundTransfer } from '../../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../platform/hex.ts';

export interface WorldListing {
  id: bigint;
  merchantId: bigint;
  priceUnits: bigint;
  sellerWallet: Hex;
  state: ListingState;
  withdrawnAt: Date | null;
  draftId: bigint;
  /** The city's origin at the time of listing. */
  cityOrigin: string;
  offerId: bigint;
  thingId: bigint;
  sellerHandle: string;
  /** As last reported by the city. */
  phase: OfferPhase;
  /** When the city began to show a different offer, or none. Null while it shows the listed one. */
  differsSince: Date | null;
  /** Why the final transfer of a claimed offer is not a sale. Null without a review. */
  reviewReason: string | null;
}

interface Row {
  id: bigint;
  merchant_id: bigint;
  price_units: bigint;
  seller_wallet: Buffer;
  state: ListingState;
  withdrawn_at: Date | null;
  draft_id: bigint;
  city_origin: string;
  offer_id: bigint;
  thing_id: bigint;
  seller_handle: string;
  phase: OfferPhase;
  differs_since: Date | null;
  review_reason: string | null;
}

/** Returns null if the id is not the listing of a thing. */
export async function findWorldListing(queryable: Queryable, id: bigint): Promise<WorldListing | null> {
  const row = await queryable.maybe<Row>(
    sql`select l.id, l.merchant_id, l.price_units, l.seller_wallet, l.state, l.withdrawn_at, w.draft_id, w.city_origin,
        w.offer_id, w.thing_id, w.seller_handle, w.phase, w.differs_since, w.review_reason
      from world_listings w join listings l on l.id = w.listing_id where w.listing_id = ${id}`,
  );
  return (
    row && {
      id: row.id,
      merchantId: row.merchant_id,
      priceUnits: row.price_units,
      sellerWallet: toHex(row.seller_wallet),
      state: row.state,
      withdrawnAt: row.withdrawn_at,
      draftId: row.draft_id,
      cityOrigin: row.city_origin,
      offerId: row.offer_id,
      thingId: row.thing_id,
      sellerHandle: row.seller_handle,
      phase: row.phase,
      differsSince: row.differs_since,
      reviewReason: row.review_reason,
    }
  );
}

/** Locks the listing until the transaction ends. Reads it in a second statement, because the first one misses changes it waited for. */
export async function lockWorldListing(tx: Tx, id: bigint): Promise<WorldListing | null> {
  await tx.maybe(sql`select id from listings where id = ${id} for update`);
  return await findWorldListing(tx, id);
}

/** Minimum time between writes of an unchanged phase, because each write makes every catalog reread the listing. */
const UNCHANGED_WRITE_MS = 60_000;

/** Records that the city shows the listed offer in this phase. A listing in review stays as it is. */
export async function notePhase(queryable: Queryable, id: bigint, phase: OfferPhase, now: Date): Promise<void> {
  await queryable.run(
    sql`update world_listings set phase = ${phase}, looked_at = ${now}, differs_since = null
      where listing_id = ${id} and reviewed_at is null
        and (phase <> ${phase} or differs_since is not null or looked_at < ${new Date(now.getTime() - UNCHANGED_WRITE_MS)})`,
  );
}

export async function noteDifference(queryable: Queryable, id: bigint, now: Date): Promise<void> {
  await queryable.run(
    sql`update world_listings set looked_at = ${now}, differs_since = coalesce(differs_since, ${now})
      where listing_id = ${id} and reviewed_at is null`,
  );
}

/** Records a check without a result, so that other listings are checked first. */
export async function noteChecked(queryable: Queryable, id: bigint, now: Date): Promise<void> {
  await queryable.run(
    sql`update world_listings set looked_at = ${now} where listing_id = ${id} and reviewed_at is null`,
  );
}

/** Puts the listing in review for good, with the reason and the transaction. */
export async function markInReview(
  tx: Tx,
  id: bigint,
  { reason, txHash, now }: { reason: string; txHash: Hex; now: Date },
): Promise<void> {
  await tx.run(
    sql`update world_listings set review_reason = ${reason}, review_tx_hash = ${toBytes(txHash)}, reviewed_at = ${now}
      where listing_id = ${id} and reviewed_at is null`,
  );
}

export async function setListingState(tx: Tx, id: bigint, state: ListingState): Promise<void> {
  await tx.run(sql`update listings set state = ${state} where id = ${id}`);
}

export interface NewSale {
  listing: WorldListing;
  checkoutId: bigint;
  buyerId: bigint;
  payer: Hex;
  transfer: FoundTransfer;
  claimedAt: Date;
}

/** Call under the history locks of buyer and seller, after the proof is written. */
export async function insertCityPurchase(tx: Tx, sale: NewSale, now: Date): Promise<void> {
  const { listing, transfer } = sale;
  await tx.run(
    sql`insert into purchases (listing_id, merchant_id, payer, price_units, paid_units, tx_hash, block_number, verified_via,
        world_listing_id, checkout_id, claimed_at, created_at)
      values (${listing.id}, ${sale.buyerId}, ${toBytes(sale.payer)}, ${listing.priceUnits}, ${transfer.value},
        ${toBytes(transfer.txHash)}, ${transfer.blockNumber}, 'city', ${listing.id}, ${sale.checkoutId}, ${sale.claimedAt}, ${now})`,
  );
}

export interface WorldSale {
  id: bigint;
  marketBuyer: string;
  paidUnits: bigint;
  offerId: bigint;
  thingId: bigint;
  thingUrl: string;
  cityHandle: string;
  txHash: Hex;
  blockNumber: bigint;
  claimedAt: Date;
}

export async function findSale(queryable: Queryable, listingId: bigint): Promise<WorldSale | null> {
  const row = await queryable.maybe<{
    id: bigint;
    handle: string;
    paid_units: bigint;
    offer_id: bigint;
    thing_id: bigint;
    thing_url: string;
    city_handle: string;
    tx_hash: Buffer;
    block_number: bigint;
    claimed_at: Date;
  }>(
    sql`select p.id, m.handle, p.paid_units, w.offer_id, w.thing_id, w.thing_url, c.city_handle, p.tx_hash, p.block_number,
        p.claimed_at
      from purchases p join world_listings w on w.listing_id = p.world_listing_id join world_checkouts c on c.id = p.checkout_id
        join merchants m on m.id = p.merchant_id
      where p.world_listing_id = ${listingId}`,
  );
  return (
    row && {
      id: row.id,
      marketBuyer: row.handle,
      paidUnits: row.paid_units,
      offerId: row.offer_id,
      thingId: row.thing_id,
      thingUrl: row.thing_url,
      cityHandle: row.city_handle,
      txHash: toHex(row.tx_hash),
      blockNumber: row.block_number,
      claimedAt: row.claimed_at,
    }
  );
}

export interface DueBy {
  cityOrigin: string;
  /** Checkouts opened after this time may still lead to a sale. */
  checkoutSince: Date;
  /** Other listings are due if last checked at or before this time. */
  lookedBefore: Date;
}

/** Batch sizes of one round. The listings unchecked for longest come first. */
const MAX_URGENT = 200;
const MAX_OTHERS = 50;

/** Lists listings that may still be sold: first those for which money may be on its way, then those unchecked for long. */
export async function listDue(queryable: Queryable, by: DueBy): Promise<bigint[]> {
  const open = sql`world_listings w join listings l on l.id = w.listing_id
    where l.wallet_kind = 'world' and l.state in ('live', 'withdrawn', 'removed', 'stale') and w.city_origin = ${by.cityOrigin}
      and w.reviewed_at is null`;
  const isMoving = sql`w.phase in ('reserved', 'payment_pending', 'claimed')`;
  // A stale listing may still be sold by an earlier reservation.
  const urgent = await queryable.rows<{ listing_id: bigint }>(
    sql`select w.listing_id from ${open}
      and ((l.state <> 'stale' and ${isMoving}) or exists (
        select from world_checkouts c where c.listing_id = w.listing_id and c.created_at > ${by.checkoutSince}))
      order by w.looked_at, w.listing_id limit ${MAX_URGENT}`,
  );
  const others = await queryable.rows<{ listing_id: bigint }>(
    sql`select w.listing_id from ${open} and (l.state <> 'stale' or ${isMoving}) and w.looked_at <= ${by.lookedBefore}
      order by w.looked_at, w.listing_id limit ${MAX_OTHERS}`,
  );
  return [...new Set([...urgent, ...others].map((row) => row.listing_id))];
}
