import sql from 'sql-template-tag';
import type { ListingState, PaymentWay } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import { fieldColumns, fieldValues } from '../catalog/store.ts';
import { flagListing } from './flag-text.ts';
import { type GoodsContent, sizeOf } from './goods-content.ts';
import type { Fingerprint } from './near/fingerprint.ts';
import type { Goods, Version } from './read-goods.ts';

export interface ListingTerms {
  id: bigint;
  merchantId: bigint;
  priceUnits: bigint;
  sellerWallet: Hex;
  /** The wallet's chain. Null means this market's network. */
  chainId: bigint | null;
  state: ListingState;
  removedAt: Date | null;
  /** Whether it is a thing of a city, which is neither paid for nor delivered here. */
  isThing: boolean;
}

interface TermsRow {
  id: bigint;
  merchant_id: bigint;
  price_units: bigint;
  seller_wallet: Buffer;
  chain_id: bigint | null;
  state: ListingState;
  removed_at: Date | null;
  is_thing: boolean;
}

const termColumns = sql`id, merchant_id, price_units, seller_wallet, chain_id, state, removed_at, wallet_kind = 'world' as is_thing`;

function termsOf(row: TermsRow): ListingTerms {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    priceUnits: row.price_units,
    sellerWallet: toHex(row.seller_wallet),
    chainId: row.chain_id,
    state: row.state,
    removedAt: row.removed_at,
    isThing: row.is_thing,
  };
}

export async function findListingTerms(queryable: Queryable, id: bigint): Promise<ListingTerms | null> {
  const row = await queryable.maybe<TermsRow>(sql`select ${termColumns} from listings where id = ${id}`);
  return row && termsOf(row);
}

/** Looks up an id that this market may have issued and lost; null if it did not. `payee` is null if no copy of the log names it. */
export async function findLostListing(queryable: Queryable, id: bigint): Promise<{ payee: Hex | null } | null> {
  const row = await queryable.maybe<{ payee: Buffer | null }>(sql`
    select (select payee from lost_listings where id = ${id}) as payee from id_floors
    where kind = 'listings' and id >= ${id} and not exists (select from listings where id = ${id})`);
  return row && { payee: row.payee && toHex(row.payee) };
}

/** Keeps others from changing, withdrawing or removing the listing until the transaction ends. Several transactions can share this lock. */
export async function lockListingShared(tx: Tx, id: bigint): Promise<ListingTerms | null> {
  const row = await tx.maybe<TermsRow>(sql`select ${termColumns} from listings where id = ${id} for share`);
  return row && termsOf(row);
}

/** Whether a listing of this merchant, made no later than `by`, is paid to this wallet, so that the merchant would buy from itself. */
export async function isSellerWallet(
  queryable: Queryable,
  merchantId: bigint,
  wallet: Hex,
  by: Date | 'infinity' = 'infinity',
): Promise<boolean> {
  const row = await queryable.one<{ found: boolean }>(
    sql`select exists (select from listings where seller_wallet = ${toBytes(wallet)} and merchant_id = ${merchantId}
      and date_trunc('second', created_at) <= ${by}::timestamptz) as found`,
  );
  return row.found;
}

export type WalletKind = 'ordinary' | 'world';

export async function findWalletKind(queryable: Queryable, wallet: Hex): Promise<WalletKind | null> {
  const row = await queryable.maybe<{ kind: WalletKind }>(
    sql`select kind from wallet_uses where wallet = ${toBytes(wallet)}`,
  );
  return row?.kind ?? null;
}

/** Finds the newest listing that this merchant made after `since` with exactly this body. */
export async function findListingByBody(
  queryable: Queryable,
  merchantId: bigint,
  bodyHash: Buffer,
  since: Date,
): Promise<bigint | null> {
  const row = await queryable.maybe<{ id: bigint }>(
    sql`select id from listings where merchant_id = ${merchantId} and body_hash = ${bodyHash} and created_at > ${since}
      order by id desc limit 1`,
  );
  return row?.id ?? null;
}

/** Returns the fee that paid for a listing. Null if it was free. */
export async function findFeeOfListing(
  queryable: Queryable,
  listingId: bigint,
): Promise<{ amount_units: bigint; tx_hash: Buffer; payment_id: bigint; verified_via: PaymentWay } | null> {
  return await queryable.maybe(
    sql`select f.amount_units, f.tx_hash, f.verified_via, f.payment_id from listings l join fees f on f.id = l.fee_id
      where l.id = ${listingId}`,
  );
}

/** Returns true for the first answer that names the listing to its merchant. */
export async function noteAnswered(queryable: Queryable, listingId: bigint, now: Date): Promise<boolean> {
  const rowCount = await queryable.run(
    sql`insert into listing_answers (listing_id, answered_at) values (${listingId}, ${now}) on conflict do nothing`,
  );
  return rowCount === 1;
}

export interface NewListingRow {
  merchantId: bigint;
  chainId: bigint;
  goods: Goods;
  version: Version | null;
  bodyHash: Buffer;
  feeId: bigint | null;
  salt: Buffer;
  commitment: Buffer;
  now: Date;
}

/** Call under the lock `listings`, so that ids follow commit order. */
export async function insertListing(tx: Tx, row: NewListingRow): Promise<bigint> {
  const { goods, version } = row;
  const flags = flagListing(goods);
  const wallet = toBytes(goods.sellerWallet);
  await tx.run(sql`insert into wallet_uses (wallet, kind) values (${wallet}, 'ordinary') on conflict do nothing`);
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into listings (id, merchant_id, price_units, seller_wallet, chain_id, created_at, artifact_commitment, artifact_bytes,
        body_hash, fee_id, supersedes, entitles_previous_buyers, text_flags, ${fieldColumns})
      values ((select next_id('listings', max(id)) from listings), ${row.merchantId}, ${goods.priceUnits}, ${wallet}, ${row.chainId},
        ${row.now}, ${row.commitment}, ${sizeOf(goods.content)}, ${row.bodyHash}, ${row.feeId}, ${version?.supersedes ?? null},
        ${version?.entitles ?? false}, ${flags}, ${fieldValues(goods)})
      returning id`,
  );
  const { content, objectId } = placeOf(goods.content);
  await tx.run(
    sql`insert into artifacts (listing_id, salt, content, object_id) values (${id}, ${row.salt}, ${content}, ${objectId})`,
  );
  return id;
}

/** Returns the columns that hold the goods, of which one is null. */
export function placeOf(content: GoodsContent): { content: Buffer | null; objectId: bigint | null } {
  return Buffer.isBuffer(content) ? { content, objectId: null } : { content: null, objectId: content.objectId };
}

export interface GuardOwner {
  merchantId: bigint;
  listingId: bigint | null;
  paymentId: bigint | null;
}

export async function findGuard(queryable: Queryable, key: Buffer, now: Date): Promise<GuardOwner | null> {
  const row = await queryable.maybe<{ merchant_id: bigint; listing_id: bigint | null; payment_id: bigint | null }>(
    sql`select merchant_id, listing_id, payment_id from artifact_guards where guard_key = ${key} and expires_at > ${now}`,
  );
  return row && { merchantId: row.merchant_id, listingId: row.listing_id, paymentId: row.payment_id };
}

export interface GuardTerm {
  until: Date | 'infinity';
  now: Date;
  /** Other versions of the goods, whose guard entry may be taken over. */
  versionChain: readonly bigint[];
}

/**
 * Takes the guard entry of these goods, even from an expired owner or an older version. Returns false if another owner holds it. The entry
 * of a pending fee records the listing that it was taken from, because it may have to be given back.
 */
export async function takeGuardEntry(
  tx: Tx,
  key: Buffer,
  owner: GuardOwner,
  { until, now, versionChain }: GuardTerm,
): Promise<boolean> {
  const rowCount = await tx.run(
    sql`insert into artifact_guards as guard (guard_key, merchant_id, listing_id, payment_id, expires_at)
      values (${key}, ${owner.merchantId}, ${owner.listingId}, ${owner.paymentId}, ${until}::timestamptz)
      on conflict (guard_key) do update set merchant_id = excluded.merchant_id, listing_id = excluded.listing_id,
        payment_id = excluded.payment_id, expires_at = excluded.expires_at,
        taken_from = case when excluded.payment_id is not null and guard.expires_at > ${now} then guard.listing_id end,
        taken_until = case when excluded.payment_id is not null and guard.expires_at > ${now} then guard.expires_at end
      where guard.expires_at <= ${now} or guard.listing_id = any(${versionChain}::bigint[])`,
  );
  return rowCount === 1;
}

/** Passes the guard entry from a fee to the listing that the fee made. */
export async function passGuardEntry(tx: Tx, paymentId: bigint, listingId: bigint, expiresAt: Date): Promise<void> {
  await tx.run(
    sql`update artifact_guards set payment_id = null, listing_id = ${listingId}, expires_at = ${expiresAt},
        taken_from = null, taken_until = null
      where payment_id = ${paymentId}`,
  );
}

/** Deletes the guard entry, or returns it to the older version it was taken from, for the remaining time. */
export async function releaseGuardEntry(tx: Tx, paymentId: bigint): Promise<void> {
  const taken = await tx.maybe<{ taken_from: bigint }>(
    sql`select taken_from from artifact_guards where payment_id = ${paymentId} and taken_from is not null`,
  );
  if (taken === null) {
    await tx.run(sql`delete from artifact_guards where payment_id = ${paymentId}`);
    return;
  }
  // No other transaction changes the row while the fee holds it. As everywhere, lock the listing before the guard row.
  await lockListingKeys(tx, [taken.taken_from]);
  await tx.run(
    sql`update artifact_guards set payment_id = null, listing_id = taken_from, expires_at = taken_until, taken_from = null,
        taken_until = null
      where payment_id = ${paymentId}`,
  );
}

/** Takes the lock that a foreign key would take later, so that we wait here for transactions that hold these rows exclusively. */
export async function lockListingKeys(tx: Tx, ids: readonly bigint[]): Promise<void> {
  if (ids.length > 0)
    await tx.run(sql`select from listings where id = any(${ids}::bigint[]) order by id for key share`);
}

export interface Predecessor {
  merchantId: bigint;
  isThing: boolean;
  /** A listing has at most one successor. */
  successorId: bigint | null;
  /** The listing itself and all versions before it. */
  versionChain: bigint[];
}

export async function findPredecessor(queryable: Queryable, id: bigint): Promise<Predecessor | null> {
  const row = await queryable.maybe<{
    merchant_id: bigint;
    is_thing: boolean;
    successor_id: bigint | null;
    line: bigint[];
  }>(
    sql`with recursive older as (
        select id, supersedes from listings where id = ${id}
        union all select l.id, l.supersedes from older join listings l on l.id = older.supersedes
      )
      select merchant_id, wallet_kind = 'world' as is_thing, (select newer.id from listings newer where newer.supersedes = l.id) as successor_id,
        array(select id from older) as line
      from listings l where id = ${id}`,
  );
  return (
    row && { merchantId: row.merchant_id, isThing: row.is_thing, successorId: row.successor_id, versionChain: row.line }
  );
}

/** Returns all versions of a listing: older ones, newer ones and itself. */
export async function findVersionChain(queryable: Queryable, id: bigint): Promise<bigint[]> {
  const row = await queryable.one<{ line: bigint[] }>(
    sql`with recursive older as (
        select id, supersedes from listings where id = ${id}
        union all select l.id, l.supersedes from older join listings l on l.id = older.supersedes
      ), newer as (
        select id from listings where id = ${id}
        union all select l.id from newer join listings l on l.supersedes = newer.id
      )
      select array(select id from older union select id from newer) as line`,
  );
  return row.line;
}

export interface PendingListing {
  body: Buffer;
  /** The draft of a thing of a city. Null for goods. */
  draftId: bigint | null;
  /** Fingerprint of uploaded goods, because the body does not have their bytes. */
  shape?: Fingerprint | null;
}

export async function insertPending(
  tx: Tx,
  paymentId: bigint,
  merchantId: bigint,
  { body, draftId, shape = null }: PendingListing,
): Promise<void> {
  await tx.run(
    sql`insert into pending_listings (payment_id, merchant_id, body, draft_id, bands, signature)
      values (${paymentId}, ${merchantId}, ${body}, ${draftId}, ${shape?.bands ?? null}::int4[], ${shape?.signature ?? null}::bit(512))`,
  );
}

/** Returns the pending listing and deletes it. */
export async function takePending(tx: Tx, paymentId: bigint): Promise<PendingListing | null> {
  const row = await tx.maybe<{ body: Buffer; draft_id: bigint | null } & (Fingerprint | { bands: null })>(
    sql`delete from pending_listings where payment_id = ${paymentId} returning body, draft_id, bands, signature`,
  );
  if (row === null) return null;
  const shape = row.bands === null ? null : { bands: row.bands, signature: row.signature };
  return { body: row.body, draftId: row.draft_id, shape };
}

export async function findHandle(queryable: Queryable, merchantId: bigint): Promise<string> {
  const row = await queryable.one<{ handle: string }>(sql`select handle from merchants where id = ${merchantId}`);
  return row.handle;
}

export async function countPaidListings(queryable: Queryable, merchantId: bigint, since: Date): Promise<number> {
  const row = await queryable.one<{ paid: bigint }>(
    sql`select count(*) as paid from listings where merchant_id = ${merchantId} and fee_id is not null
      and created_at >= ${since}`,
  );
  return Number(row.paid);
}
