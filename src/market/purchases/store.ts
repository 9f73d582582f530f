import sql, { empty, raw, type Sql } from 'sql-template-tag';
import { type Attributes, COMPARED_FIELDS } from '../../contract/listing-fields.ts';
import type { NewerVersion } from '../../contract/purchases.ts';
import type { PaymentWay } from '../../contract/vocabulary.ts';
import type { Sighting } from '../../platform/chain/sighting.ts';
import type { Database, Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { shownTitle } from '../catalog/present-listing.ts';
import { attributeColumns, attributesOf } from '../catalog/store.ts';
import type { Payment } from '../payments/payment.ts';

/**
 * A merchant's history is paged by id, newest first, but a sale may commit after one with a higher id. So sales share this lock from before
 * they get an id until they commit, and a history page is read while no sale holds it. A sale that commits after a page was read has a
 * higher id than everything on it, so no page cursor can skip it.
 */
const historyLock = (merchantId: bigint): string => `purchases:${merchantId}`;

/** Takes share locks on the histories of seller and buyer, in ascending order so that sales never deadlock. Call before writing a sale. */
export async function lockHistoriesShared(tx: Tx, sellerId: bigint, buyerId: bigint | null): Promise<void> {
  const ids = buyerId === null ? [sellerId] : [sellerId, buyerId];
  for (const id of [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1))) await tx.lockShared(historyLock(id));
}

/**
 * Reads what a merchant bought and sold while no sale can change it. Each statement takes its own snapshot. A snapshot of the whole
 * transaction would date from the first statement, which waits for the lock, and would miss sales that were committed during the wait.
 */
export async function readOwnHistory<T>(
  database: Database,
  merchantId: bigint,
  read: (queryable: Queryable) => Promise<T>,
): Promise<T> {
  return database.transaction(
    async (tx) => {
      await tx.lock(historyLock(merchantId));
      return await read(tx);
    },
    { readOnly: true },
  );
}

export interface Purchase {
  id: bigint;
  listingId: bigint;
  merchantId: bigint | null;
  payer: Hex | null;
  paymentId: bigint | null;
  priceUnits: bigint;
  paidUnits: bigint;
  txHash: Hex | null;
  blockNumber: bigint | null;
  verifiedVia: PaymentWay | 'free';
  payerCollectsOnly: boolean;
  createdAt: Date;
}

interface Row {
  id: bigint;
  listing_id: bigint;
  merchant_id: bigint | null;
  payer: Buffer | null;
  payment_id: bigint | null;
  price_units: bigint;
  paid_units: bigint;
  tx_hash: Buffer | null;
  block_number: bigint | null;
  verified_via: PaymentWay | 'free';
  payer_collects_only: boolean;
  created_at: Date;
}

const columns = sql`id, listing_id, merchant_id, payer, payment_id, price_units, paid_units, tx_hash, block_number,
  verified_via, payer_collects_only, created_at`;

function purchaseOf(row: Row): Purchase {
  return {
    id: row.id,
    listingId: row.listing_id,
    merchantId: row.merchant_id,
    payer: row.payer && toHex(row.payer),
    paymentId: row.payment_id,
    priceUnits: row.price_units,
    paidUnits: row.paid_units,
    txHash: row.tx_hash && toHex(row.tx_hash),
    blockNumber: row.block_number,
    verifiedVia: row.verified_via,
    payerCollectsOnly: row.payer_collects_only,
    createdAt: row.created_at,
  };
}

export async function findPurchase(
  queryable: Queryable,
  listingId: bigint,
  by: { merchantId: bigint } | { payer: Hex } | { paymentId: bigint },
): Promise<Purchase | null> {
  let condition = sql`payment_id = ${'paymentId' in by ? by.paymentId : null}`;
  if ('merchantId' in by) condition = sql`merchant_id = ${by.merchantId}`;
  if ('payer' in by) condition = sql`payer = ${toBytes(by.payer)}`;
  const row = await queryable.maybe<Row>(
    sql`select ${columns} from purchases where listing_id = ${listingId} and ${condition}`,
  );
  return row && purchaseOf(row);
}

/** Call after `lockHistoriesShared`. `transfer` is null if another payment has the transaction's proof. */
export async function insertPaidPurchase(
  tx: Tx,
  payment: Payment,
  paid: { transfer: Sighting | null; paidUnits: bigint; payerCollectsOnly: boolean },
  now: Date,
): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into purchases (listing_id, merchant_id, payer, payment_id, price_units, paid_units, tx_hash, block_number,
        verified_via, payer_collects_only, created_at)
      values (${payment.listingId}, ${payment.merchantId}, ${toBytes(payment.payer)}, ${payment.id}, ${payment.valueUnits},
        ${paid.paidUnits}, ${paid.transfer && toBytes(paid.transfer.txHash)}, ${paid.transfer?.blockNumber ?? payment.blockNumber},
        ${payment.path}, ${paid.payerCollectsOnly}, ${now})
      returning id`,
  );
  return id;
}

/** Returns null if this merchant already has a purchase of the goods. */
export async function insertFreePurchase(
  tx: Tx,
  listingId: bigint,
  merchantId: bigint,
  now: Date,
): Promise<bigint | null> {
  const row = await tx.maybe<{ id: bigint }>(
    sql`insert into purchases (listing_id, merchant_id, price_units, paid_units, verified_via, created_at)
      values (${listingId}, ${merchantId}, 0, 0, 'free', ${now})
      on conflict do nothing returning id`,
  );
  return row?.id ?? null;
}

export interface ArtifactRow extends Attributes {
  title: string;
  seller: string;
  encoding: 'utf-8' | 'base64';
  mediaType: string;
  filename: string | null;
  salt: Buffer;
  commitment: Buffer;
  bytes: number;
  /** The bytes, of goods that came as a string. */
  content: Buffer | null;
  /** Place of the bytes of uploaded goods. Null for a string. */
  upload: { objectId: bigint; sha256: Buffer } | null;
}

/** Reads the hidden goods. Refuses erased ones. Only deliver.ts may call it. */
export async function readArtifact(queryable: Queryable, listingId: bigint): Promise<ArtifactRow> {
  const row = await queryable.one<
    Attributes & {
      erased: boolean;
      title: string;
      removed_at: Date | null;
      handle: string;
      artifact_encoding: 'utf-8' | 'base64';
      artifact_media_type: string;
      artifact_filename: string | null;
      salt: Buffer;
      artifact_commitment: Buffer;
      content: Buffer | null;
      object_id: bigint | null;
      sha256: Buffer | null;
      bytes: bigint;
    }
  >(
    sql`select l.title, l.removed_at, m.handle, l.artifact_encoding, l.artifact_media_type, l.artifact_filename, ${attributeColumns}, a.salt,
        l.artifact_commitment, a.content, a.object_id, a.erased, o.sha256, coalesce(o.bytes, length(a.content)) as bytes
      from listings l join artifacts a on a.listing_id = l.id join merchants m on m.id = l.merchant_id
        left join goods_objects o on o.id = a.object_id
      where l.id = ${listingId}`,
  );
  if (row.erased) throw new Refusal('goods_erased');
  const { object_id: objectId, sha256 } = row;
  return {
    title: shownTitle(row),
    seller: row.handle,
    encoding: row.artifact_encoding,
    mediaType: row.artifact_media_type,
    filename: row.artifact_filename,
    salt: row.salt,
    commitment: row.artifact_commitment,
    bytes: Number(row.bytes),
    content: row.content,
    upload: objectId === null || sha256 === null ? null : { objectId, sha256 },
    ...attributesOf(row),
  };
}

export interface UsedSignature {
  payer: Hex;
  nonce: Hex;
  /** Null for a caller without a key. */
  merchantId: bigint | null;
}

export async function isSignatureUsed(
  queryable: Queryable,
  { payer, nonce, merchantId }: UsedSignature,
): Promise<boolean> {
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from collect_signatures where payer = ${toBytes(payer)} and nonce = ${toBytes(nonce)}
      and merchant_id is not distinct from ${merchantId}) as found`,
  );
  return found;
}

/** Returns false if this caller has already collected with it, in any process. */
export async function noteSignatureUsed(queryable: Queryable, shown: UsedSignature, endsAt: Date): Promise<boolean> {
  const rowCount = await queryable.run(
    sql`insert into collect_signatures (payer, nonce, merchant_id, ends_at)
      values (${toBytes(shown.payer)}, ${toBytes(shown.nonce)}, ${shown.merchantId}, ${endsAt})
      on conflict do nothing`,
  );
  return rowCount === 1;
}

/** Deletes up to `limit` rows that expired before that time. Runs at each use, which adds only one row, so the table stays small. */
export async function pruneUsedSignatures(queryable: Queryable, before: Date, limit: number): Promise<void> {
  await queryable.run(
    sql`delete from collect_signatures where ctid in (
      select ctid from collect_signatures where ends_at < ${before} order by ends_at limit ${limit} for update skip locked)`,
  );
}

export interface Buyer {
  merchantId: bigint | null;
  payer: Hex | null;
}

/**
 * Selects whether the buyer bought an older version before the next one was made, following the version chain down from `newest` while each
 * version entitles earlier buyers. A payment counts from when it was opened, because it may end much later; a claim also counts from its
 * transfer's time, which is in whole seconds. If only the payer may collect, the key that opened the payment does not count.
 */
function isEntitledTo(newest: Sql, { merchantId, payer }: Buyer): Sql {
  const ofMerchant = sql`(p.merchant_id = ${merchantId} and not p.payer_collects_only)`;
  const orOfPayer = payer === null ? empty : sql`or p.payer = ${toBytes(payer)}`;
  return sql`select exists (
    with recursive line (older, newer_at) as (
      select l.supersedes, l.created_at from listings l where l.id = ${newest} and l.entitles_previous_buyers
      union all
      select l.supersedes, l.created_at from line join listings l on l.id = line.older where l.entitles_previous_buyers
    )
    select from line join purchases p on p.listing_id = line.older left join payments y on y.id = p.payment_id
    where (${ofMerchant} ${orOfPayer}) and (coalesce(y.created_at, p.created_at) < line.newer_at
      or (y.path = 'direct' and y.block_time < date_trunc('second', line.newer_at)))
  )`;
}

export async function isEarlierBuyer(queryable: Queryable, listingId: bigint, buyer: Buyer): Promise<boolean> {
  const { exists } = await queryable.one<{ exists: boolean }>(isEntitledTo(sql`${listingId}`, buyer));
  return exists;
}

export interface NewerRow {
  bought_id: bigint;
  id: bigint;
  title: string;
  removed_at: Date | null;
  price_units: bigint;
  created_at: Date;
  changed: NewerVersion['changed'];
  entitled: boolean;
}

const DIFFERENCES: readonly (readonly [name: NewerVersion['changed'][number], differ: string])[] = [
  ...COMPARED_FIELDS.map((name) => [name, `new.${name} is distinct from old.${name}`] as const),
  ['price_usdc', 'new.price_units <> old.price_units'],
  ['seller_wallet', 'new.seller_wallet <> old.seller_wallet'],
  [
    'artifact',
    `(coalesce(new_object.sha256, sha256(new_goods.content)), new.artifact_encoding, new.artifact_media_type, new.artifact_filename)
      is distinct from
      (coalesce(old_object.sha256, sha256(old_goods.content)), old.artifact_encoding, old.artifact_media_type, old.artifact_filename)`,
  ],
];
const cases = DIFFERENCES.map(([name, differ]) => `case when ${differ} then '${name}' end`).join(', ');
const differences = raw(`array_remove(array[${cases}], null)`);

/** Finds the newest live successor of each bought listing. Compares the goods themselves, because each commitment has its own salt. */
export async function readNewerVersions(
  queryable: Queryable,
  merchantId: bigint,
  boughtIds: readonly bigint[],
): Promise<NewerRow[]> {
  return await queryable.rows<NewerRow>(sql`
    select old.id as bought_id, new.id, new.title, new.removed_at, new.price_units, new.created_at,
      ${differences} as changed,
      (${isEntitledTo(sql`new.id`, { merchantId, payer: null })}) as entitled
    from listings old
      cross join lateral (
        with recursive line (id, state) as (
          select l.id, l.state from listings l where l.supersedes = old.id
          union all
          select l.id, l.state from line join listings l on l.supersedes = line.id
        )
        select max(id) as id from line where state = 'live'
      ) newest
      join listings new on new.id = newest.id
      join artifacts old_goods on old_goods.listing_id = old.id
      join artifacts new_goods on new_goods.listing_id = new.id
      left join goods_objects old_object on old_object.id = old_goods.object_id
      left join goods_objects new_object on new_object.id = new_goods.object_id
    where old.id = any(${boughtIds}::bigint[])`);
}
