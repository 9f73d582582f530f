import sql, { type Sql } from 'sql-template-tag';
import type { PaymentPurpose } from '../../../../contract/vocabulary.ts';
import type { FoundTransfer } from '../../../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import { type Hex, toBytes, toHex, ZERO_ADDRESS } from '../../../../platform/hex.ts';
import type { DirectPayment, ReviewOutcome } from '../../payment.ts';
import { readPayments } from '../../store.ts';
import { WAITING_REASON } from './further-store.ts';
import type { Intent } from './store.ts';

/** The payee's decision, `proven` if the wallet itself signed later, or `superseded` if the transfer pays for another claim. */
export type UnprovenOutcome = ReviewOutcome | 'proven' | 'superseded';

/** A claim of a final transfer by the intent's contract wallet, without its signature. It is not a payment and writes no proof. */
export interface UnprovenClaim {
  id: bigint;
  purpose: PaymentPurpose;
  intentId: string;
  merchantId: bigint;
  listingId: bigint | null;
  bodyHash: Buffer | null;
  chainId: bigint;
  asset: Hex;
  payee: Hex;
  payer: Hex;
  minimumUnits: bigint;
  windowFrom: Date;
  windowTo: Date;
  transfer: FoundTransfer;
  createdAt: Date;
  outcome: UnprovenOutcome | null;
  endedAt: Date | null;
}

interface UnprovenRow {
  id: bigint;
  purpose: PaymentPurpose;
  intent_id: Buffer;
  merchant_id: bigint;
  listing_id: bigint | null;
  body_hash: Buffer | null;
  chain_id: bigint;
  asset: Buffer;
  payee: Buffer;
  payer: Buffer;
  minimum_units: bigint;
  window_from: Date;
  window_to: Date;
  tx_hash: Buffer;
  log_index: number;
  block_number: bigint;
  block_hash: Buffer;
  block_time: Date;
  value_units: bigint;
  created_at: Date;
  outcome: UnprovenOutcome | null;
  ended_at: Date | null;
}

const selectUnproven = sql`select u.id, i.purpose, u.intent_id, u.merchant_id, u.listing_id, u.body_hash, i.chain_id, i.asset, i.payee, u.payer,
    i.minimum_units, i.created_at as window_from, i.expires_at as window_to, u.tx_hash, u.log_index, u.block_number, u.block_hash,
    u.block_time, u.value_units, u.created_at, u.outcome, u.ended_at
  from unproven_claims u join payment_intents i on i.id = u.intent_id`;

function claimOf(row: UnprovenRow): UnprovenClaim {
  return {
    id: row.id,
    purpose: row.purpose,
    intentId: row.intent_id.toString('hex'),
    merchantId: row.merchant_id,
    listingId: row.listing_id,
    bodyHash: row.body_hash,
    chainId: row.chain_id,
    asset: toHex(row.asset),
    payee: toHex(row.payee),
    payer: toHex(row.payer),
    minimumUnits: row.minimum_units,
    windowFrom: row.window_from,
    windowTo: row.window_to,
    transfer: {
      txHash: toHex(row.tx_hash),
      logIndex: row.log_index,
      blockNumber: row.block_number,
      blockHash: toHex(row.block_hash),
      blockTime: BigInt(Math.floor(row.block_time.getTime() / 1000)),
      value: row.value_units,
      // The table has no sender, and no decision on a claim uses it.
      sender: ZERO_ADDRESS,
    },
    createdAt: row.created_at,
    outcome: row.outcome,
    endedAt: row.ended_at,
  };
}

async function maybeClaim(queryable: Queryable, query: Sql): Promise<UnprovenClaim | null> {
  const row = await queryable.maybe<UnprovenRow>(query);
  return row && claimOf(row);
}

export function findUnproven(
  queryable: Queryable,
  by: { id: bigint } | { intentId: string } | { merchantId: bigint; txHash: Hex },
): Promise<UnprovenClaim | null> {
  if ('id' in by) return maybeClaim(queryable, sql`${selectUnproven} where u.id = ${by.id}`);
  if ('intentId' in by) {
    return maybeClaim(queryable, sql`${selectUnproven} where u.intent_id = ${Buffer.from(by.intentId, 'hex')}`);
  }
  return maybeClaim(
    queryable,
    sql`${selectUnproven} where u.merchant_id = ${by.merchantId} and u.tx_hash = ${toBytes(by.txHash)}`,
  );
}

/** Finds this merchant's undecided claim for these goods, for the fee of this body, or for any fee. */
export function findOpenUnproven(
  queryable: Queryable,
  merchantId: bigint,
  of: { listingId: bigint } | { bodyHash: Buffer } | 'fees',
): Promise<UnprovenClaim | null> {
  const what = of === 'fees' ? sql`u.listing_id is null` : isOfSubject(of);
  return maybeClaim(
    queryable,
    sql`${selectUnproven} where u.merchant_id = ${merchantId} and ${what} and u.ended_at is null order by u.id limit 1`,
  );
}

function isOfSubject(of: { listingId: bigint } | { bodyHash: Buffer }): Sql {
  return 'listingId' in of ? sql`u.listing_id = ${of.listingId}` : sql`u.body_hash = ${of.bodyHash}`;
}

/** Serializes work on one transaction: naming it with a valid signature, opening a review of it, and deciding on it. */
export function lockTransfer(tx: Tx, txHash: Hex): Promise<void> {
  return tx.lock(`transfer:${txHash}`);
}

/** Locks several transfers in ascending order, so that two callers never deadlock. */
export async function lockTransfers(tx: Tx, txHashes: ReadonlySet<Hex>): Promise<void> {
  for (const txHash of [...txHashes].toSorted()) await lockTransfer(tx, txHash);
}

/** Returns null if the claim is decided or does not exist. Waits for any transaction that is changing it. */
export function lockOpenUnproven(tx: Tx, id: bigint): Promise<UnprovenClaim | null> {
  return maybeClaim(tx, sql`${selectUnproven} where u.id = ${id} and u.ended_at is null for update of u`);
}

export async function countOpenUnproven(queryable: Queryable, merchantId: bigint): Promise<number> {
  const { open } = await queryable.one<{ open: bigint }>(
    sql`select count(*) as open from unproven_claims where merchant_id = ${merchantId} and ended_at is null`,
  );
  return Number(open);
}

export interface NewUnproven {
  intent: Intent;
  payer: Hex;
  bodyHash: Buffer | null;
  transfer: FoundTransfer;
  now: Date;
}

export async function insertUnproven(tx: Tx, { intent, transfer, ...rest }: NewUnproven): Promise<void> {
  await tx.run(
    sql`insert into unproven_claims (intent_id, merchant_id, listing_id, body_hash, payer, tx_hash, log_index, block_number, block_hash,
        block_time, value_units, created_at)
      values (${Buffer.from(intent.id, 'hex')}, ${intent.merchantId}, ${intent.listingId}, ${rest.bodyHash}, ${toBytes(rest.payer)},
        ${toBytes(transfer.txHash)}, ${transfer.logIndex}, ${transfer.blockNumber}, ${toBytes(transfer.blockHash)},
        ${new Date(Number(transfer.blockTime) * 1000)}, ${transfer.value}, ${rest.now})`,
  );
}

interface UnprovenEnd {
  outcome: ReviewOutcome;
  /** Null if the review timed out. */
  by: bigint | null;
  note: string | null;
  now: Date;
}

/** Call with the row locked and open. */
export async function endUnproven(tx: Tx, id: bigint, { outcome, by, note, now }: UnprovenEnd): Promise<void> {
  await tx.run(
    sql`update unproven_claims set outcome = ${outcome}, ended_at = ${now}, decided_by = ${by}, note = ${note} where id = ${id}`,
  );
}

/** Ends all open claims of transfers in this transaction from that wallet to that payee. */
export async function endUnprovenOf(
  tx: Tx,
  { txHash, payer, payee }: { txHash: Hex; payer: Hex; payee: Hex },
  outcome: 'proven' | 'superseded',
  now: Date,
): Promise<void> {
  await tx.run(
    sql`update unproven_claims u set outcome = ${outcome}, ended_at = ${now} from payment_intents i
      where i.id = u.intent_id and i.payee = ${toBytes(payee)} and u.tx_hash = ${toBytes(txHash)} and u.payer = ${toBytes(payer)}
        and u.ended_at is null`,
  );
}

/** Returns undecided claims that were stored no later than `before`, oldest first. */
export async function listUnprovenSince(queryable: Queryable, before: Date, limit: number): Promise<UnprovenClaim[]> {
  const rows = await queryable.rows<UnprovenRow>(
    sql`${selectUnproven} where u.ended_at is null and u.created_at <= ${before} order by u.created_at, u.id limit ${limit}`,
  );
  return rows.map(claimOf);
}

/**
 * Turns the claim into a payment with the same number, because its payee decided to deliver or refund. The caller must move it to review,
 * with its proof, before the transaction ends. If another transfer of the wallet paid for the intent, the new payment is surplus to that
 * one. Returns null if the goods or the fee have another payment, or the intent has an undecided one.
 */
export async function insertFromUnproven(
  tx: Tx,
  claim: UnprovenClaim,
  { surplus, now }: { surplus: boolean; now: Date },
): Promise<DirectPayment | null> {
  const intentId = Buffer.from(claim.intentId, 'hex');
  const [inserted] = await readPayments(
    tx,
    (columns) => sql`
      with paid as (select max(id) as id from payments where intent_id = ${intentId} and status = 'completed' and beside is null)
      insert into payments (id, purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
        intent_id, window_from, window_to, surplus, beside, settling_at, created_at, updated_at)
      overriding system value
      select ${claim.id}, ${claim.purpose}, 'direct', 'settling', ${claim.listingId}, ${claim.merchantId}, ${claim.bodyHash}::bytea,
        ${claim.chainId}, ${toBytes(claim.asset)}, ${toBytes(claim.payee)}, ${toBytes(claim.payer)}, ${claim.minimumUnits},
        ${intentId}, ${claim.windowFrom}, ${claim.windowTo}, ${surplus} or paid.id is not null, paid.id, ${claim.createdAt},
        ${claim.createdAt}, ${now} from paid
      on conflict do nothing
      returning ${columns}`,
  );
  return inserted?.path === 'direct' ? inserted : null;
}

/**
 * Whether the transaction proves something or pays for a payment of this wallet, or is undecided or waiting in a claim that the wallet
 * signed. Such a transaction can be claimed only with the wallet's signature, even after the payee has rejected the signed claim.
 */
export async function isTransactionClaimed(
  queryable: Queryable,
  { txHash, payer }: { txHash: Hex; payer: Hex },
): Promise<boolean> {
  const hash = toBytes(txHash);
  const { claimed } = await queryable.one<{ claimed: boolean }>(
    sql`select exists (select from payment_proofs where tx_hash = ${hash})
      or exists (select from payments where tx_hash = ${hash} and payer = ${toBytes(payer)} and status <> 'unpaid')
      or exists (select from claim_hashes h join payments p on p.id = h.payment_id
        where h.tx_hash = ${hash} and (h.refused_reason is null or h.refused_reason = ${WAITING_REASON}) and p.payer = ${toBytes(payer)}) as claimed`,
  );
  return claimed;
}

export interface UnprovenReviewRow {
  id: bigint;
  purpose: PaymentPurpose;
  listing_id: bigint | null;
  handle: string;
  payer: Buffer;
  payee: Buffer;
  asked_units: bigint;
  received_units: bigint;
  exact_units: bigint | null;
  tx_hash: Buffer;
  block_time: Date;
  created_at: Date;
}

/** Returns the claims that this merchant must decide on. Claims of the same transaction are adjacent. */
export async function readUnprovenReviews(
  queryable: Queryable,
  merchant: { id: bigint; maintainer: boolean },
  limit: number,
): Promise<UnprovenReviewRow[]> {
  return await queryable.rows<UnprovenReviewRow>(sql`
    select u.id, i.purpose, u.listing_id, m.handle, u.payer, i.payee, i.minimum_units as asked_units, u.value_units as received_units,
      i.exact_units, u.tx_hash, u.block_time, u.created_at
    from unproven_claims u join payment_intents i on i.id = u.intent_id join merchants m on m.id = u.merchant_id
      left join listings l on l.id = u.listing_id
    where u.ended_at is null and (l.merchant_id = ${merchant.id} or (${merchant.maintainer} and i.purpose = 'listing_fee'))
    order by min(u.created_at) over (partition by u.tx_hash), u.tx_hash, u.id limit ${limit}`);
}

/** Presents the claim as the payment it would become. */
export function viewOfUnproven(claim: UnprovenClaim): DirectPayment {
  const { transfer, outcome } = claim;
  const isOver = outcome === 'declined' || outcome === 'proven' || outcome === 'superseded';
  return {
    ...EMPTY_FIELDS,
    ...{ id: claim.id, purpose: claim.purpose, listingId: claim.listingId, merchantId: claim.merchantId },
    ...{ bodyHash: claim.bodyHash, chainId: claim.chainId, asset: claim.asset, payee: claim.payee, payer: claim.payer },
    ...{ valueUnits: claim.minimumUnits, intentId: claim.intentId },
    ...{ windowFrom: claim.windowFrom, windowTo: claim.windowTo },
    ...{ createdAt: claim.createdAt, settlingAt: claim.createdAt, updatedAt: claim.endedAt ?? claim.createdAt },
    ...{ txHash: transfer.txHash, blockNumber: transfer.blockNumber, logIndex: transfer.logIndex },
    blockTime: new Date(Number(transfer.blockTime) * 1000),
    endedAt: claim.createdAt,
    status: isOver ? 'rejected' : 'needs_review',
    endReason: outcome === 'proven' || outcome === 'superseded' ? outcome : 'payer_unproven',
    reviewOutcome: outcome === 'declined' ? 'declined' : null,
  };
}

/** Presents the intent as the claim that a signature would open. */
export function viewOfIntent(intent: Intent, payer: Hex): DirectPayment {
  return {
    ...EMPTY_FIELDS,
    ...{
      id: 0n,
      purpose: intent.purpose,
      status: 'settling',
      listingId: intent.listingId,
      merchantId: intent.merchantId,
    },
    ...{ bodyHash: null, chainId: intent.chainId, asset: intent.asset, payee: intent.payee, payer },
    ...{ valueUnits: intent.minimumUnits, intentId: intent.id },
    ...{ windowFrom: intent.createdAt, windowTo: intent.expiresAt },
    ...{ createdAt: intent.createdAt, settlingAt: intent.createdAt, updatedAt: intent.createdAt },
    ...{ txHash: null, blockNumber: null, blockTime: null, logIndex: null },
    ...{ endReason: null, reviewOutcome: null, endedAt: null },
  };
}

const EMPTY_FIELDS = {
  path: 'direct',
  deliveryTokenHash: null,
  payerCollectsOnly: false,
  stoppedAt: null,
  surplus: false,
} as const;
