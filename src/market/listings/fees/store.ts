import sql, { empty } from 'sql-template-tag';
import type { PaymentWay } from '../../../contract/vocabulary.ts';
import type { FoundTransfer } from '../../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toBytes } from '../../../platform/hex.ts';
import type { Payment } from '../../payments/payment.ts';

export interface FeeRow {
  id: bigint;
  /** Null while unspent. */
  listing_id: bigint | null;
  merchant: string;
  amount_units: bigint;
  tx_hash: Buffer;
  verified_via: PaymentWay;
  block_time: Date;
  created_at: Date;
}

export interface FeeSlice {
  count: bigint;
  collectedUnits: bigint;
  rows: FeeRow[];
}

interface Newest {
  fees: bigint | null;
  running_units: bigint | null;
}

/** Reads count and total from the newest row, which stores running values. Uses one statement, so that all values are of one moment. */
export async function readFees(
  database: Queryable,
  page: { limit: number; beforeId: bigint | null },
): Promise<FeeSlice> {
  const older = page.beforeId === null ? empty : sql`where f.id < ${page.beforeId}`;
  const fees = await database.rows<Newest & (FeeRow | { [K in keyof FeeRow]: null })>(sql`
    select newest.nth as fees, newest.running_units, page.*
    from (select 1) always
    left join (select coalesce(nth, id) as nth, running_units from fees order by id desc limit 1) newest on true
    left join (
      select f.id, l.id as listing_id, m.handle as merchant, f.amount_units, f.tx_hash, f.verified_via, f.block_time,
        f.created_at
      from fees f join merchants m on m.id = f.merchant_id left join listings l on l.fee_id = f.id
      ${older} order by f.id desc limit ${page.limit}
    ) page on true
    order by page.id desc`);
  const [first] = fees;
  return {
    count: first?.fees ?? 0n,
    collectedUnits: first?.running_units ?? 0n,
    rows: fees.flatMap((row) => (row.id === null ? [] : [row])),
  };
}

export async function countCredits(database: Queryable, merchantId: bigint): Promise<bigint> {
  const { credits } = await database.one<{ credits: bigint }>(sql`
    select count(*) as credits from fees f
    where f.merchant_id = ${merchantId} and not exists (select from listings l where l.fee_id = f.id)`);
  return credits;
}

/** Call under the lock `listings`, so that ids follow commit order, and count and running total are right. */
export async function insertFee(tx: Tx, payment: Payment, transfer: FoundTransfer, now: Date): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into fees (id, nth, merchant_id, payment_id, amount_units, running_units, tx_hash, verified_via, block_time, created_at)
    select next_id('fees', max(id)), coalesce((array_agg(coalesce(nth, id)))[1], 0) + 1, ${payment.merchantId}, ${payment.id}, ${transfer.value},
      coalesce((array_agg(running_units order by id desc))[1], 0) + ${transfer.value},
      ${toBytes(transfer.txHash)}, ${payment.path}, ${new Date(Number(transfer.blockTime) * 1000)}, ${now}
    from (select id, nth, running_units from fees order by id desc limit 1) newest
    returning id`);
  return id;
}

/**
 * Returns this merchant's oldest unspent fee. Takes a lock that keeps others from spending the merchant's credits until the transaction
 * ends.
 */
export async function takeCredit(tx: Tx, merchantId: bigint): Promise<bigint | null> {
  await tx.lock(`credits:${merchantId}`);
  const row = await tx.maybe<{ id: bigint }>(sql`
    select f.id from fees f
    where f.merchant_id = ${merchantId} and not exists (select from listings l where l.fee_id = f.id)
    order by f.id limit 1`);
  return row?.id ?? null;
}

/** Finds the listing that a fee was paid for. Null until it exists. A listing that only spent the fee as a credit has another body. */
export async function findListingOfFee(database: Queryable, paymentId: bigint): Promise<bigint | null> {
  const row = await database.maybe<{ id: bigint }>(sql`
    select l.id from payments p join fees f on f.payment_id = p.id
      join listings l on l.fee_id = f.id and l.body_hash = p.body_hash
    where p.id = ${paymentId}`);
  return row?.id ?? null;
}
