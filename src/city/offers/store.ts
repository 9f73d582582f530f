import sql, { type Sql } from 'sql-template-tag';
import type { OfferPhase } from '../../contract/world-records.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Offer, Reservation } from './offer.ts';

interface OfferRow {
  id: bigint;
  thing_id: bigint;
  thing_name: string;
  seller_id: bigint;
  seller: string;
  price_units: bigint;
  seller_wallet: Buffer;
  market_origin: string;
  market_draft_id: bigint;
  market_seller: string;
  chain_id: bigint;
  asset: Buffer;
  phase: OfferPhase;
  market_listing_id: bigint | null;
  pending_since: Date | null;
  tx_hash: Buffer | null;
  block_number: bigint | null;
  block_time: Date | null;
  end_reason: string | null;
  created_at: Date;
  claimed_at: Date | null;
  canceled_at: Date | null;
}

interface ReservationRow {
  r_id: bigint;
  resident_id: bigint;
  handle: string;
  market_checkout_id: bigint;
  market_buyer: string;
  payer_wallet: Buffer;
  reserved_at: Date;
  reserved_until: Date;
  opened_block: bigint;
  nonce: string;
  challenge: string;
  seen_tx_hash: Buffer | null;
  lapsed_at: Date | null;
}

type Joined = OfferRow & (ReservationRow | { r_id: null });

const reservationColumns = sql`r.id as r_id, r.resident_id, buyers.handle, r.market_checkout_id, r.market_buyer, r.payer_wallet,
  r.reserved_at, r.reserved_until, r.opened_block, r.nonce, r.challenge, r.seen_tx_hash, r.lapsed_at`;

const joined = sql`select o.id, o.thing_id, things.name as thing_name, o.seller_id, sellers.handle as seller, o.price_units,
    o.seller_wallet, o.market_origin, o.market_draft_id, o.market_seller, o.chain_id, o.asset, o.phase, o.market_listing_id,
    o.pending_since, o.tx_hash, o.block_number, o.block_time, o.end_reason, o.created_at, o.claimed_at, o.canceled_at,
    ${reservationColumns}
  from offers o join things on things.id = o.thing_id join residents sellers on sellers.id = o.seller_id
    left join reservations r on r.id = o.reservation_id left join residents buyers on buyers.id = r.resident_id`;

function offerOf(row: Joined): Offer {
  return {
    id: row.id,
    thingId: row.thing_id,
    thingName: row.thing_name,
    sellerId: row.seller_id,
    seller: row.seller,
    priceUnits: row.price_units,
    sellerWallet: toHex(row.seller_wallet),
    marketOrigin: row.market_origin,
    marketDraftId: row.market_draft_id,
    marketSeller: row.market_seller,
    chainId: row.chain_id,
    asset: toHex(row.asset),
    phase: row.phase,
    marketListingId: row.market_listing_id,
    reservation: row.r_id === null ? null : reservationOf(row, row.id),
    pendingSince: row.pending_since,
    txHash: row.tx_hash && toHex(row.tx_hash),
    blockNumber: row.block_number,
    blockTime: row.block_time,
    endReason: row.end_reason,
    createdAt: row.created_at,
    claimedAt: row.claimed_at,
    canceledAt: row.canceled_at,
  };
}

function reservationOf(row: ReservationRow, offerId: bigint): Reservation {
  return {
    id: row.r_id,
    offerId,
    residentId: row.resident_id,
    handle: row.handle,
    marketCheckoutId: row.market_checkout_id,
    marketBuyer: row.market_buyer,
    payerWallet: toHex(row.payer_wallet),
    reservedAt: row.reserved_at,
    reservedUntil: row.reserved_until,
    openedBlock: row.opened_block,
    nonce: row.nonce,
    challenge: row.challenge,
    seenTxHash: row.seen_tx_hash && toHex(row.seen_tx_hash),
    lapsedAt: row.lapsed_at,
  };
}

async function readOffers(queryable: Queryable, where: Sql): Promise<Offer[]> {
  const rows = await queryable.rows<Joined>(sql`${joined} ${where}`);
  return rows.map(offerOf);
}

export async function findOffer(queryable: Queryable, id: bigint): Promise<Offer | null> {
  const [offer] = await readOffers(queryable, sql`where o.id = ${id}`);
  return offer ?? null;
}

export async function findOfferOfDraft(
  queryable: Queryable,
  { marketOrigin, marketDraftId }: Pick<Offer, 'marketOrigin' | 'marketDraftId'>,
): Promise<Offer | null> {
  const [offer] = await readOffers(
    queryable,
    sql`where o.market_origin = ${marketOrigin} and o.market_draft_id = ${marketDraftId}`,
  );
  return offer ?? null;
}

/** Locks the offer until the transaction ends, and reads it under the lock. */
export async function lockOffer(tx: Tx, id: bigint): Promise<Offer | null> {
  await tx.run(sql`select from offers where id = ${id} for update`);
  return findOffer(tx, id);
}

export type NewOffer = Pick<
  Offer,
  | 'thingId'
  | 'sellerId'
  | 'priceUnits'
  | 'sellerWallet'
  | 'marketOrigin'
  | 'marketDraftId'
  | 'marketSeller'
  | 'chainId'
  | 'asset'
  | 'createdAt'
>;

/** Call under the lock 'offers'. */
export async function insertOffer(tx: Tx, offer: NewOffer): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into offers (id, thing_id, seller_id, price_units, seller_wallet, market_origin, market_draft_id, market_seller, chain_id, asset,
      created_at)
    values ((select next_id('offers', max(id)) from offers), ${offer.thingId}, ${offer.sellerId}, ${offer.priceUnits},
      ${toBytes(offer.sellerWallet)}, ${offer.marketOrigin}, ${offer.marketDraftId}, ${offer.marketSeller}, ${offer.chainId},
      ${toBytes(offer.asset)}, ${offer.createdAt})
    returning id`);
  return id;
}

/** Saves every field that may change. Call with the row locked. */
export async function saveOffer(tx: Tx, offer: Offer): Promise<void> {
  await tx.run(sql`
    update offers set phase = ${offer.phase}, market_listing_id = ${offer.marketListingId},
      reservation_id = ${offer.reservation?.id ?? null}, pending_since = ${offer.pendingSince},
      tx_hash = ${offer.txHash && toBytes(offer.txHash)}, block_number = ${offer.blockNumber}, block_time = ${offer.blockTime},
      end_reason = ${offer.endReason}, claimed_at = ${offer.claimedAt}, canceled_at = ${offer.canceledAt}
    where id = ${offer.id}`);
}

export interface OpenOffer {
  id: bigint;
  phase: OfferPhase;
  reservedUntil: Date;
  hasClaims: boolean;
}

/** Lists offers whose next step depends on the chain, ordered by id. */
export async function listUndecidedOffers(queryable: Queryable, afterId: bigint, limit: number): Promise<OpenOffer[]> {
  const rows = await queryable.rows<{ id: bigint; phase: OfferPhase; reserved_until: Date; has_claims: boolean }>(sql`
    select o.id, o.phase, r.reserved_until,
      exists (select from claims where claims.reservation_id = r.id and claims.refused is null) as has_claims
    from offers o join reservations r on r.id = o.reservation_id
    where o.phase in ('reserved', 'payment_pending') and o.id > ${afterId}
    order by o.id limit ${limit}`);
  return rows.map((row) => ({
    id: row.id,
    phase: row.phase,
    reservedUntil: row.reserved_until,
    hasClaims: row.has_claims,
  }));
}

/** Reserves an id before the insert, because the challenge contains it and the row must never change. */
export async function nextReservationId(queryable: Queryable): Promise<bigint> {
  const { id } = await queryable.one<{ id: bigint }>(
    sql`select nextval(pg_get_serial_sequence('reservations', 'id')) as id`,
  );
  return id;
}

export async function insertReservation(tx: Tx, reservation: Reservation, now: Date): Promise<void> {
  await tx.run(sql`
    insert into reservations (id, offer_id, resident_id, market_checkout_id, market_buyer, payer_wallet, reserved_at, reserved_until,
      opened_block, nonce, challenge, created_at)
    overriding system value
    values (${reservation.id}, ${reservation.offerId}, ${reservation.residentId}, ${reservation.marketCheckoutId},
      ${reservation.marketBuyer}, ${toBytes(reservation.payerWallet)}, ${reservation.reservedAt}, ${reservation.reservedUntil},
      ${reservation.openedBlock}, ${reservation.nonce}, ${reservation.challenge}, ${now})`);
}

/** Returns when this resident's last reservation of the offer ended unpaid. Null if there is none or it did not end unpaid. */
export async function findLastLapse(queryable: Queryable, offerId: bigint, residentId: bigint): Promise<Date | null> {
  const row = await queryable.maybe<{ lapsed_at: Date | null }>(sql`
    select lapsed_at from reservations where resident_id = ${residentId} and offer_id = ${offerId} order by id desc limit 1`);
  return row?.lapsed_at ?? null;
}

export async function markLapsed(tx: Tx, id: bigint, at: Date): Promise<void> {
  await tx.run(sql`update reservations set lapsed_at = ${at} where id = ${id}`);
}

export async function markSeen(tx: Tx, id: bigint, txHash: Hex): Promise<void> {
  await tx.run(sql`update reservations set seen_tx_hash = ${toBytes(txHash)} where id = ${id}`);
}

export async function mustFindOffer(queryable: Queryable, id: bigint): Promise<Offer> {
  const offer = await findOffer(queryable, id);
  if (offer === null) throw new Refusal('not_found', { detail: 'There is no such offer.' });
  return offer;
}
