import sql from 'sql-template-tag';
import type { Sighting } from '../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import { shownTitle } from '../catalog/present-listing.ts';
import type { Payment } from '../payments/payment.ts';

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
  verifiedVia: 'x402' | 'direct' | 'free';
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
  verified_via: 'x402' | 'direct' | 'free';
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
  let who = sql`payment_id = ${'paymentId' in by ? by.paymentId : null}`;
  if ('merchantId' in by) who = sql`merchant_id = ${by.merchantId}`;
  if ('payer' in by) who = sql`payer = ${toBytes(by.payer)}`;
  const row = await queryable.maybe<Row>(
    sql`select ${columns} from purchases where listing_id = ${listingId} and ${who}`,
  );
  return row && purchaseOf(row);
}

/** Call under the locks of buyer and seller. Without a transfer the proof is that of another payment in the same transaction. */
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

/** Null when this merchant has it already. */
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

export interface ArtifactRow {
  title: string;
  seller: string;
  encoding: 'utf-8' | 'base64';
  mediaType: string;
  filename: string | null;
  salt: Buffer;
  content: Buffer;
}

/** The hidden goods. Only deliver.ts and the merchant's own history may ask for them. */
export async function readArtifact(queryable: Queryable, listingId: bigint): Promise<ArtifactRow> {
  const row = await queryable.one<{
    title: string;
    removed_at: Date | null;
    handle: string;
    artifact_encoding: 'utf-8' | 'base64';
    artifact_media_type: string;
    artifact_filename: string | null;
    salt: Buffer;
    content: Buffer;
  }>(
    sql`select l.title, l.removed_at, m.handle, l.artifact_encoding, l.artifact_media_type, l.artifact_filename, a.salt, a.content
      from listings l join artifacts a on a.listing_id = l.id join merchants m on m.id = l.merchant_id
      where l.id = ${listingId}`,
  );
  return {
    title: shownTitle(row),
    seller: row.handle,
    encoding: row.artifact_encoding,
    mediaType: row.artifact_media_type,
    filename: row.artifact_filename,
    salt: row.salt,
    content: row.content,
  };
}
