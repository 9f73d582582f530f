import sql from 'sql-template-tag';
import type { ListingState } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import type { Goods } from './read-goods.ts';

/** What a buyer has to know of a listing, without its texts. */
export interface ListingTerms {
  id: bigint;
  merchantId: bigint;
  priceUnits: bigint;
  sellerWallet: Hex;
  state: ListingState;
  removedAt: Date | null;
}

interface TermsRow {
  id: bigint;
  merchant_id: bigint;
  price_units: bigint;
  seller_wallet: Buffer;
  state: ListingState;
  removed_at: Date | null;
}

const termColumns = sql`id, merchant_id, price_units, seller_wallet, state, removed_at`;

function termsOf(row: TermsRow): ListingTerms {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    priceUnits: row.price_units,
    sellerWallet: toHex(row.seller_wallet),
    state: row.state,
    removedAt: row.removed_at,
  };
}

export async function findListingTerms(queryable: Queryable, id: bigint): Promise<ListingTerms | null> {
  const row = await queryable.maybe<TermsRow>(sql`select ${termColumns} from listings where id = ${id}`);
  return row && termsOf(row);
}

/** Until the end of the transaction nobody changes, withdraws or removes the listing; others may share. */
export async function shareListing(tx: Tx, id: bigint): Promise<ListingTerms | null> {
  const row = await tx.maybe<TermsRow>(sql`select ${termColumns} from listings where id = ${id} for share`);
  return row && termsOf(row);
}

/** Whether that wallet receives, or received by then, for any listing of the merchant: then it is the merchant who would be buying. */
export async function isSellerWallet(
  queryable: Queryable,
  merchantId: bigint,
  wallet: Hex,
  by: Date | 'infinity' = 'infinity',
): Promise<boolean> {
  const row = await queryable.one<{ found: boolean }>(
    sql`select exists (select from listings where seller_wallet = ${toBytes(wallet)} and merchant_id = ${merchantId}
      and created_at <= ${by}::timestamptz) as found`,
  );
  return row.found;
}

export async function findWalletKind(queryable: Queryable, wallet: Hex): Promise<'ordinary' | 'world' | null> {
  const row = await queryable.maybe<{ kind: 'ordinary' | 'world' }>(
    sql`select kind from wallet_uses where wallet = ${toBytes(wallet)}`,
  );
  return row?.kind ?? null;
}

/** The newest listing of this merchant that this very body made since then. */
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

/** How much of which fee paid for a listing; null for one that was free. */
export async function findFeeOfListing(
  queryable: Queryable,
  listingId: bigint,
): Promise<{ amount_units: bigint; tx_hash: Buffer; payer: Buffer; verified_via: 'x402' | 'direct' } | null> {
  return await queryable.maybe(
    sql`select f.amount_units, f.tx_hash, f.verified_via, p.payer from listings l join fees f on f.id = l.fee_id
      join payments p on p.id = f.payment_id where l.id = ${listingId}`,
  );
}

/** True for the first answer that names the listing to its merchant. */
export async function noteAnswered(queryable: Queryable, listingId: bigint, now: Date): Promise<boolean> {
  const touched = await queryable.run(
    sql`insert into listing_answers (listing_id, answered_at) values (${listingId}, ${now}) on conflict do nothing`,
  );
  return touched === 1;
}

export interface NewListingRow {
  merchantId: bigint;
  goods: Goods;
  bodyHash: Buffer;
  feeId: bigint | null;
  salt: Buffer;
  commitment: Buffer;
  now: Date;
}

/** Call under the lock `listings`: ids then follow the order of commits. */
export async function insertListing(tx: Tx, row: NewListingRow): Promise<bigint> {
  const { goods } = row;
  const wallet = toBytes(goods.sellerWallet);
  await tx.run(sql`insert into wallet_uses (wallet, kind) values (${wallet}, 'ordinary') on conflict do nothing`);
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, created_at,
        artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, artifact_filename, body_hash, fee_id)
      select coalesce(max(id), 0) + 1, ${row.merchantId}, ${goods.title}, ${goods.description}, ${goods.preview},
        ${goods.priceUnits}, ${wallet}, ${goods.tags}::text[], ${goods.aisle}, ${row.now}, ${row.commitment},
        ${goods.content.length}, ${goods.encoding}, ${goods.mediaType}, ${goods.filename}, ${row.bodyHash}, ${row.feeId}
      from listings
      returning id`,
  );
  await tx.run(sql`insert into artifacts (listing_id, salt, content) values (${id}, ${row.salt}, ${goods.content})`);
  return id;
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

/** Takes the place of these goods, or that of an expired owner. False when somebody holds it. */
export async function holdGuard(
  tx: Tx,
  key: Buffer,
  owner: GuardOwner,
  expiresAt: Date | 'infinity',
  now: Date,
): Promise<boolean> {
  const touched = await tx.run(
    sql`insert into artifact_guards as guard (guard_key, merchant_id, listing_id, payment_id, expires_at)
      values (${key}, ${owner.merchantId}, ${owner.listingId}, ${owner.paymentId}, ${expiresAt}::timestamptz)
      on conflict (guard_key) do update set merchant_id = excluded.merchant_id, listing_id = excluded.listing_id,
        payment_id = excluded.payment_id, expires_at = excluded.expires_at
      where guard.expires_at <= ${now}`,
  );
  return touched === 1;
}

/** From a fee that was on its way to the listing that it made. */
export async function passGuard(tx: Tx, paymentId: bigint, listingId: bigint, expiresAt: Date): Promise<void> {
  await tx.run(
    sql`update artifact_guards set payment_id = null, listing_id = ${listingId}, expires_at = ${expiresAt}
      where payment_id = ${paymentId}`,
  );
}

export async function dropGuard(tx: Tx, paymentId: bigint): Promise<void> {
  await tx.run(sql`delete from artifact_guards where payment_id = ${paymentId}`);
}

export async function insertPending(tx: Tx, paymentId: bigint, merchantId: bigint, body: Buffer): Promise<void> {
  await tx.run(
    sql`insert into pending_listings (payment_id, merchant_id, body) values (${paymentId}, ${merchantId}, ${body})`,
  );
}

/** Hands the body out once and forgets it. */
export async function takePending(tx: Tx, paymentId: bigint): Promise<Buffer | null> {
  const row = await tx.maybe<{ body: Buffer }>(
    sql`delete from pending_listings where payment_id = ${paymentId} returning body`,
  );
  return row?.body ?? null;
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
