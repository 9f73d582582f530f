import sql, { raw, type Sql } from 'sql-template-tag';
import type { PaymentPurpose, PaymentWay } from '../../contract/vocabulary.ts';
import type { Sighting } from '../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../platform/hex.ts';
import {
  type ChainEnd,
  METHOD_COLUMNS,
  METHOD_FIELDS,
  type MethodRow,
  type Payment,
  type PaymentStatus,
  type ReviewOutcome,
} from './payment.ts';

interface PaymentRow extends MethodRow {
  id: bigint;
  path: PaymentWay;
  purpose: PaymentPurpose;
  status: PaymentStatus;
  listing_id: bigint | null;
  body_hash: Buffer | null;
  chain_id: bigint;
  asset: Buffer;
  payee: Buffer;
  payer: Buffer;
  value_units: bigint;
  surplus: boolean;
  delivery_token_hash: Buffer | null;
  payer_collects_only: boolean;
  tx_hash: Buffer | null;
  block_number: bigint | null;
  block_time: Date | null;
  log_index: number | null;
  stopped_at: Date | null;
  end_reason: string | null;
  review_outcome: ReviewOutcome | null;
  settling_at: Date | null;
  created_at: Date;
  ended_at: Date | null;
  updated_at: Date;
}

const columns = sql`id, path, purpose, status, listing_id, body_hash, chain_id, asset, payee, payer,
  value_units, ${raw(METHOD_COLUMNS.join(', '))}, surplus, delivery_token_hash, payer_collects_only, tx_hash, block_number, block_time, log_index, end_reason, review_outcome, settling_at,
  stopped_at, created_at, ended_at, updated_at`;

function paymentOf(row: PaymentRow): Payment {
  const common = {
    id: row.id,
    purpose: row.purpose,
    status: row.status,
    listingId: row.listing_id,
    bodyHash: row.body_hash,
    chainId: row.chain_id,
    asset: toHex(row.asset),
    payee: toHex(row.payee),
    payer: toHex(row.payer),
    valueUnits: row.value_units,
    deliveryTokenHash: row.delivery_token_hash,
    payerCollectsOnly: row.payer_collects_only,
    txHash: row.tx_hash && toHex(row.tx_hash),
    blockNumber: row.block_number,
    blockTime: row.block_time,
    logIndex: row.log_index,
    endReason: row.end_reason,
    reviewOutcome: row.review_outcome,
    settlingAt: row.settling_at,
    stoppedAt: row.stopped_at,
    surplus: row.surplus,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    updatedAt: row.updated_at,
  };
  const methodFields = METHOD_FIELDS[row.path](row);
  if (methodFields === null) throw new TypeError(`payment ${row.id} lacks what one by ${row.path} has`);
  return { ...common, ...methodFields };
}

/** Runs queries on this table for other files; `buildQuery` receives the columns. */
export async function readPayments(queryable: Queryable, buildQuery: (columns: Sql) => Sql): Promise<Payment[]> {
  return (await queryable.rows<PaymentRow>(buildQuery(columns))).map(paymentOf);
}

async function maybePayment(queryable: Queryable, query: Sql): Promise<Payment | null> {
  const row = await queryable.maybe<PaymentRow>(query);
  return row && paymentOf(row);
}

export function findPayment(queryable: Queryable, id: bigint): Promise<Payment | null> {
  return maybePayment(queryable, sql`select ${columns} from payments where id = ${id}`);
}

/** A payment to submit, with possible reasons not to. */
export interface PaymentToDrive {
  payment: Payment;
  isRemoved: boolean;
  isHalted: boolean;
}

export async function findPaymentToDrive(queryable: Queryable, id: bigint): Promise<PaymentToDrive | null> {
  const row = await queryable.maybe<PaymentRow & { removed: boolean; halted: boolean }>(
    sql`select ${columns},
        exists (select from listings l where l.id = payments.listing_id and l.removed_at is not null) as removed,
        payments_are_stopped(payments.chain_id) as halted
      from payments where id = ${id}`,
  );
  return row && { payment: paymentOf(row), isRemoved: row.removed, isHalted: row.halted };
}

/** Waits for the transaction that is changing the row. */
export function lockPayment(tx: Tx, id: bigint): Promise<Payment | null> {
  return maybePayment(tx, sql`select ${columns} from payments where id = ${id} for update`);
}

export async function findByAuthorization(
  queryable: Queryable,
  key: { chainId: bigint; asset: Hex; payer: Hex; nonce: Hex },
): Promise<Payment | null> {
  return await maybePayment(
    queryable,
    sql`select ${columns} from payments where chain_id = ${key.chainId} and asset = ${toBytes(key.asset)}
      and payer = ${toBytes(key.payer)} and nonce = ${toBytes(key.nonce)}`,
  );
}

export function findByToken(queryable: Queryable, tokenHash: Buffer): Promise<Payment | null> {
  return maybePayment(queryable, sql`select ${columns} from payments where delivery_token_hash = ${tokenHash}`);
}

/** Finds this merchant's or payer's payment for the listing, unless it ended unpaid, was rejected or is surplus. */
export function findPaidOrPending(
  queryable: Queryable,
  listingId: bigint,
  holder: { merchantId: bigint } | { payer: Hex },
): Promise<Payment | null> {
  const holderCondition =
    'merchantId' in holder ? sql`merchant_id = ${holder.merchantId}` : sql`payer = ${toBytes(holder.payer)}`;
  return maybePayment(
    queryable,
    sql`select ${columns} from payments where purpose = 'purchase' and listing_id = ${listingId} and ${holderCondition}
      and status not in ('unpaid', 'rejected') and not surplus`,
  );
}

/** Returns the merchant's payment and the wallet's payment, where each is given and exists: at most two, or one if they are the same. */
export async function findAllPaidOrPending(
  queryable: Queryable,
  listingId: bigint,
  { merchantId, payer }: { merchantId: bigint | null; payer: Hex | null },
): Promise<Payment[]> {
  const paidOrPending = sql`select ${columns} from payments where purpose = 'purchase' and listing_id = ${listingId}
    and status not in ('unpaid', 'rejected') and not surplus`;
  return await readPayments(
    queryable,
    () => sql`${paidOrPending} and merchant_id = ${merchantId}
      union all ${paidOrPending} and payer = ${payer && toBytes(payer)}
        and (${merchantId}::int8 is null or merchant_id is distinct from ${merchantId})`,
  );
}

export function findOpenFee(queryable: Queryable, merchantId: bigint, bodyHash: Buffer): Promise<Payment | null> {
  return maybePayment(
    queryable,
    sql`select ${columns} from payments where purpose = 'listing_fee' and merchant_id = ${merchantId}
      and body_hash = ${bodyHash} and status in ('verifying', 'settling', 'needs_review') and beside is null`,
  );
}

export async function countOpenFees(queryable: Queryable, merchantId: bigint): Promise<number> {
  const row = await queryable.one<{ open: bigint }>(
    sql`select count(*) as open from payments where purpose = 'listing_fee' and merchant_id = ${merchantId}
      and status in ('verifying', 'settling')`,
  );
  return Number(row.open);
}

/** Returns null if the row is no longer `verifying` or was stopped. */
export function markSettling(tx: Tx, id: bigint, now: Date): Promise<Payment | null> {
  return maybePayment(
    tx,
    sql`update payments set status = 'settling', settling_at = ${now}, updated_at = ${now}
      where id = ${id} and status = 'verifying' and stopped_at is null
      returning ${columns}`,
  );
}

/** Stops payments that were not submitted yet, so that they are never submitted for changed goods. Call with the listing locked. */
export async function stopAttempts(tx: Tx, listingId: bigint, now: Date): Promise<void> {
  // The last condition follows from `status = 'verifying'`, but the index needs it.
  await tx.run(
    sql`update payments set stopped_at = ${now}, updated_at = ${now}
      where purpose = 'purchase' and listing_id = ${listingId} and status = 'verifying' and stopped_at is null
        and status not in ('unpaid', 'rejected')`,
  );
}

/** Stores what the chain shows; null clears a sighting that a reorganisation removed. Returns null if unchanged or already ended. */
export async function noteSighting(
  queryable: Queryable,
  id: bigint,
  sighting: Sighting | null,
  now: Date,
): Promise<Payment | null> {
  const hash = sighting && toBytes(sighting.txHash);
  const number = sighting?.blockNumber ?? null;
  const time = sighting && new Date(Number(sighting.blockTime) * 1000);
  return await maybePayment(
    queryable,
    sql`update payments set tx_hash = ${hash}, block_number = ${number}, block_time = ${time}, updated_at = ${now}
      where id = ${id} and status in ('verifying', 'settling')
      and (tx_hash is distinct from ${hash} or block_number is distinct from ${number})
      returning ${columns}`,
  );
}

export interface PaymentEnd {
  status: ChainEnd;
  reason: string | null;
  transfer: Sighting | null;
  /** Log index of this payment's own transfer. Null if there is none. */
  logIndex: number | null;
  payerCollectsOnly: boolean;
}

export async function endPayment(tx: Tx, id: bigint, end: PaymentEnd, now: Date): Promise<Payment> {
  const { transfer } = end;
  const row = await tx.one<PaymentRow>(
    sql`update payments set status = ${end.status}, end_reason = ${end.reason},
        payer_collects_only = ${end.payerCollectsOnly},
        tx_hash = ${transfer && toBytes(transfer.txHash)}, block_number = ${transfer?.blockNumber ?? null},
        block_time = ${transfer && new Date(Number(transfer.blockTime) * 1000)}, log_index = ${end.logIndex},
        ended_at = ${now}, updated_at = ${now}
      where id = ${id}
      returning ${columns}`,
  );
  return paymentOf(row);
}

/** Deletes attempts that were never submitted and whose authorization expired before `before`, so they can no longer move money. */
export async function deleteEndedAttempts(queryable: Queryable, before: Date, most: number): Promise<number> {
  const { gone } = await queryable.one<{ gone: number }>(
    sql`select prune_lapsed_attempts(${before}, ${most}::int4) as gone`,
  );
  return gone;
}

/** Returns open payments whose id is above `afterId`, by id. */
export async function listOpenPayments(queryable: Queryable, afterId: bigint, limit: number): Promise<Payment[]> {
  const rows = await queryable.rows<PaymentRow>(
    sql`select ${columns} from payments where status in ('verifying', 'settling') and id > ${afterId}
      order by id limit ${limit}`,
  );
  return rows.map(paymentOf);
}

interface ReviewEnd {
  outcome: ReviewOutcome;
  /** Null if the review timed out. */
  by: bigint | null;
  note: string | null;
  /** Log index of the transfer that paid, if it was found only now. */
  logIndex: number | null;
  now: Date;
}

/** Call with the row locked and in review. */
export async function endReview(tx: Tx, id: bigint, { outcome, by, note, logIndex, now }: ReviewEnd): Promise<void> {
  await tx.run(
    sql`update payments set status = ${outcome === 'deliver' ? 'completed' : 'rejected'}, review_outcome = ${outcome},
        reviewed_by = ${by}, review_note = ${note}, reviewed_at = ${now}, updated_at = ${now},
        log_index = coalesce(log_index, ${logIndex})
      where id = ${id}`,
  );
}

/** Returns reviews that began no later than `before`, oldest first. */
export function listReviewsSince(queryable: Queryable, before: Date, limit: number): Promise<Payment[]> {
  return readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments where status = 'needs_review' and ended_at <= ${before}
      order by ended_at, id limit ${limit}`,
  );
}

export interface OpenPayments {
  path: PaymentWay;
  status: string;
  count: number;
  oldest: Date;
}

export async function countOpenPayments(queryable: Queryable): Promise<OpenPayments[]> {
  const rows = await queryable.rows<{ path: PaymentWay; status: string; count: bigint; oldest: Date }>(
    sql`select path, status, count(*) as count, min(created_at) as oldest from payments
      where status in ('verifying', 'settling') group by path, status order by path, status`,
  );
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

export async function countReviews(queryable: Queryable): Promise<number> {
  const { count } = await queryable.one<{ count: bigint }>(
    sql`select (select count(*) from payments where status = 'needs_review')
      + (select count(*) from unproven_claims where ended_at is null) as count`,
  );
  return Number(count);
}

interface OpenTimes {
  /** The lowest block in which the transfer of an open payment was seen. */
  oldestSeen: { blockNumber: bigint; blockTime: Date } | null;
  /** When the newest open payment without a block was opened. */
  newestUnseen: Date | null;
  /** When the oldest open payment without a block was opened. */
  oldestUnseen: Date | null;
  /** Whether any claim, open or decided, names undecided transactions. */
  hasUndecidedTransactions: boolean;
}

export async function findOpenTimes(queryable: Queryable): Promise<OpenTimes> {
  const row = await queryable.one<{
    block_number: bigint | null;
    block_time: Date | null;
    newest_unseen: Date | null;
    oldest_unseen: Date | null;
    has_undecided: boolean;
  }>(
    sql`select min(block_number) as block_number, min(block_time) as block_time,
        max(created_at) filter (where block_number is null) as newest_unseen,
        min(created_at) filter (where block_number is null) as oldest_unseen,
        exists (select from claim_hashes where refused_reason is null and not proven) as has_undecided
      from payments where status in ('verifying', 'settling')`,
  );
  const { block_number: blockNumber, block_time: blockTime } = row;
  const oldestSeen = blockNumber === null || blockTime === null ? null : { blockNumber, blockTime };
  const { newest_unseen: newestUnseen, oldest_unseen: oldestUnseen, has_undecided: hasUndecidedTransactions } = row;
  return { oldestSeen, newestUnseen, oldestUnseen, hasUndecidedTransactions };
}
