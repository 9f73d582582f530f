import sql, { type Sql } from 'sql-template-tag';
import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../../platform/hex.ts';
import type { DirectPayment } from '../../payment.ts';
import { findPayment, readPayments } from '../../store.ts';
import { MAX_HASHES } from './store.ts';

/** Value of refused_reason for transactions that were named for a claim in review. They are judged only after the payee has decided. */
export const WAITING_REASON = 'payment_undecided';

export interface WaitingHash {
  txHash: Hex;
  /** Block in which it was last seen to move money from the payer to the payee. Null if it was last seen in none. */
  seenBlock: bigint | null;
  /** Whether the transaction is final and its transfers are stored. */
  isRead: boolean;
}

/** Returns transactions in the order in which they were named. */
export async function listWaitingHashes(queryable: Queryable, paymentId: bigint): Promise<WaitingHash[]> {
  const rows = await queryable.rows<{ tx_hash: Buffer; seen_block: bigint | null; read: boolean }>(sql`
    select tx_hash, seen_block,
      exists (select from further_transfers f where f.payment_id = h.payment_id and f.tx_hash = h.tx_hash) as read
    from claim_hashes h where payment_id = ${paymentId} and refused_reason = ${WAITING_REASON} order by place`);
  return rows.map((row) => ({ txHash: toHex(row.tx_hash), seenBlock: row.seen_block, isRead: row.read }));
}

/**
 * Stores a transaction that waits until the payee has decided. Call with the row locked and in review. Returns false if it is already being
 * judged.
 */
export async function addWaitingHash(tx: Tx, paymentId: bigint, txHash: Hex): Promise<boolean> {
  const rowCount = await tx.run(sql`
    insert into claim_hashes (payment_id, tx_hash, refused_reason) values (${paymentId}, ${toBytes(txHash)}, ${WAITING_REASON})
    on conflict (payment_id, tx_hash) do update set refused_reason = ${WAITING_REASON} where claim_hashes.refused_reason is not null`);
  return rowCount === 1;
}

/** Drops a transaction that moved nothing from the payer to the payee. */
export async function deleteWaitingHash(queryable: Queryable, paymentId: bigint, txHash: Hex): Promise<void> {
  await queryable.run(sql`
    delete from claim_hashes where payment_id = ${paymentId} and tx_hash = ${toBytes(txHash)} and refused_reason = ${WAITING_REASON}`);
}

/**
 * Call once the payee has delivered. Waiting transactions are surplus then, and the background job opens a review for each. Releases at
 * most as many as a claim may name; the rest wait until they are claimed. Call with the row locked.
 */
export async function releaseWaitingHashes(tx: Tx, paymentId: bigint): Promise<void> {
  await tx.run(sql`
    update claim_hashes set refused_reason = null where payment_id = ${paymentId} and tx_hash in (
      select tx_hash from claim_hashes where payment_id = ${paymentId} and refused_reason = ${WAITING_REASON}
      order by place limit (select greatest(0, ${MAX_HASHES} - count(*)) from claim_hashes
        where payment_id = ${paymentId} and refused_reason is null and not proven))`);
}

/** A transaction, and the wallet whose claims are searched. `except` is the id of the claim that names the transaction now. */
export interface HolderSearch {
  txHash: Hex;
  payer: Hex;
  except: bigint | null;
}

/**
 * Finds this wallet's claim that holds the transaction: its payee sees the transaction while deciding on another one, or has delivered and
 * the background job has not opened the review yet. Until then the transaction must not pay for anything else. Call with the transfer
 * locked.
 */
export function findHolder(tx: Tx, named: HolderSearch): Promise<DirectPayment | null> {
  return findNamingClaim(
    tx,
    named,
    sql`(h.refused_reason = ${WAITING_REASON} and p.status in ('needs_review', 'completed')
      or h.refused_reason is null and p.status = 'completed' and p.review_outcome = 'deliver')`,
  );
}

/** Like `findHolder`, but also finds a claim of this wallet for which the transaction is undecided. */
export function findUndecided(tx: Tx, named: HolderSearch): Promise<DirectPayment | null> {
  return findNamingClaim(
    tx,
    named,
    sql`(h.refused_reason is null or h.refused_reason = ${WAITING_REASON} and p.status in ('needs_review', 'completed'))`,
  );
}

async function findNamingClaim(
  tx: Tx,
  { txHash, payer, except }: HolderSearch,
  which: Sql,
): Promise<DirectPayment | null> {
  const row = await tx.maybe<{ id: bigint }>(sql`
    select p.id from claim_hashes h join payments p on p.id = h.payment_id
    where h.tx_hash = ${toBytes(txHash)} and not h.proven and p.payer = ${toBytes(payer)} and p.id is distinct from ${except} and ${which}
    order by p.id limit 1`);
  const claim = row && (await findPayment(tx, row.id));
  return claim?.path === 'direct' ? claim : null;
}

export interface WaitingClaim {
  claim: DirectPayment;
  seenBlock: bigint;
}

/**
 * Finds the newest claim for which this transaction was stored until the payee's decision, even if the payee has decided by now. Null if
 * there is none, the transaction was not seen in a block, or the intent has a newer claim.
 */
export async function findWaitingClaim(queryable: Queryable, txHash: Hex): Promise<WaitingClaim | null> {
  const row = await queryable.maybe<{ payment_id: bigint; seen_block: bigint }>(sql`
    select h.payment_id, h.seen_block from claim_hashes h join payments p on p.id = h.payment_id
    where h.tx_hash = ${toBytes(txHash)} and h.refused_reason = ${WAITING_REASON} and h.seen_block is not null
      and not exists (select from payments newer where newer.intent_id = p.intent_id and newer.beside is null and newer.id > p.id)
    order by h.payment_id desc limit 1`);
  const claim = row && (await findPayment(queryable, row.payment_id));
  return row !== null && claim?.path === 'direct' ? { claim, seenBlock: row.seen_block } : null;
}

export interface FurtherTransfer {
  txHash: Hex;
  logIndex: number;
  valueUnits: bigint;
  blockNumber: bigint;
}

/** Stores final transfers, without those already stored. */
export async function insertFurtherTransfers(
  queryable: Queryable,
  paymentId: bigint,
  transfers: readonly FurtherTransfer[],
): Promise<void> {
  if (transfers.length === 0) return;
  await queryable.run(sql`
    insert into further_transfers (payment_id, tx_hash, log_index, value_units, block_number)
    select ${paymentId}, * from unnest(${transfers.map(({ txHash }) => toBytes(txHash))}::bytea[],
      ${transfers.map(({ logIndex }) => logIndex)}::int4[], ${transfers.map(({ valueUnits }) => valueUnits)}::int8[],
      ${transfers.map(({ blockNumber }) => blockNumber)}::int8[])
    on conflict do nothing`);
}

/** A further transfer, as shown to the payee who decides on a review. */
export interface ShownTransfer {
  paymentId: bigint;
  txHash: Hex;
  /** Null until it is final. */
  valueUnits: bigint | null;
  /** Null until it was seen in a block. */
  blockNumber: bigint | null;
  /** Whether the payer named it for the claim in review. */
  isClaimed: boolean;
}

/** Lists further transfers of these payments in chain order. Leaves out those that pay for something else or have their own review. */
export async function listFurther(queryable: Queryable, paymentIds: readonly bigint[]): Promise<ShownTransfer[]> {
  if (paymentIds.length === 0) return [];
  const rows = await queryable.rows<{
    payment_id: bigint;
    tx_hash: Buffer;
    value_units: bigint | null;
    block_number: bigint | null;
    claimed: boolean;
  }>(sql`
    with waiting as (
      select payment_id, tx_hash, seen_block from claim_hashes
      where payment_id = any(${paymentIds}::int8[]) and refused_reason = ${WAITING_REASON}
    ), seen as (
      select * from further_transfers where payment_id = any(${paymentIds}::int8[])
    )
    select * from (
      select f.payment_id, f.tx_hash, f.value_units, f.block_number, w.payment_id is not null as claimed, f.log_index
        from seen f left join waiting w using (payment_id, tx_hash)
      union all select w.payment_id, w.tx_hash, null, w.seen_block, true, 0
        from waiting w where not exists (select from seen f where f.payment_id = w.payment_id and f.tx_hash = w.tx_hash)
    ) shown
    where not exists (select from payment_proofs o
      where o.tx_hash = shown.tx_hash and o.payment_id is distinct from shown.payment_id)
    order by payment_id, block_number nulls last, log_index, tx_hash`);
  return rows.map((row) => ({
    paymentId: row.payment_id,
    txHash: toHex(row.tx_hash),
    valueUnits: row.value_units,
    blockNumber: row.block_number,
    isClaimed: row.claimed,
  }));
}

/** Returns claims in review whose id is above `afterId`, by id. */
export async function listClaimsInReview(
  queryable: Queryable,
  afterId: bigint,
  limit: number,
): Promise<DirectPayment[]> {
  const claims = await readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments
      where status = 'needs_review' and path = 'direct' and beside is null and id > ${afterId} order by id limit ${limit}`,
  );
  return claims.flatMap((claim) => (claim.path === 'direct' ? [claim] : []));
}
