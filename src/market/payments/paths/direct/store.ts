import sql, { join, type Sql } from 'sql-template-tag';
import type { PaymentPurpose } from '../../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../../platform/hex.ts';
import type { DirectPayment, Payment } from '../../payment.ts';
import { readPayments } from '../../store.ts';

/** An offer to pay by direct transfer: its subject, payer and time window. Never changes. */
export interface Intent {
  /** 32 hex digits. */
  id: string;
  purpose: PaymentPurpose;
  listingId: bigint | null;
  merchantId: bigint;
  chainId: bigint;
  asset: Hex;
  payee: Hex;
  /** Null if any wallet may pay. Then the wallet that signs the challenge is the payer. */
  payer: Hex | null;
  minimumUnits: bigint;
  /** Exact amount that a contract wallet is asked to send, so that its transfer can be recognised. Null if the payer is not a contract. */
  exactUnits: bigint | null;
  /** 32 hex digits. */
  nonce: string;
  challenge: string;
  createdAt: Date;
  expiresAt: Date;
}

interface IntentRow {
  id: Buffer;
  purpose: PaymentPurpose;
  listing_id: bigint | null;
  merchant_id: bigint;
  chain_id: bigint;
  asset: Buffer;
  payee: Buffer;
  payer: Buffer | null;
  minimum_units: bigint;
  exact_units: bigint | null;
  nonce: Buffer;
  challenge: string;
  created_at: Date;
  expires_at: Date;
}

const intentColumns = sql`id, purpose, listing_id, merchant_id, chain_id, asset, payee, payer, minimum_units, exact_units, nonce, challenge,
  created_at, expires_at`;

function intentOf(row: IntentRow): Intent {
  return {
    id: row.id.toString('hex'),
    purpose: row.purpose,
    listingId: row.listing_id,
    merchantId: row.merchant_id,
    chainId: row.chain_id,
    asset: toHex(row.asset),
    payee: toHex(row.payee),
    payer: row.payer && toHex(row.payer),
    minimumUnits: row.minimum_units,
    exactUnits: row.exact_units,
    nonce: row.nonce.toString('hex'),
    challenge: row.challenge,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

const idBytes = (id: string): Buffer => Buffer.from(id, 'hex');

export async function insertIntent(tx: Tx, intent: Intent): Promise<void> {
  await tx.run(
    sql`insert into payment_intents (${intentColumns})
      values (${idBytes(intent.id)}, ${intent.purpose}, ${intent.listingId}, ${intent.merchantId}, ${intent.chainId},
        ${toBytes(intent.asset)}, ${toBytes(intent.payee)}, ${intent.payer && toBytes(intent.payer)}, ${intent.minimumUnits},
        ${intent.exactUnits}, ${idBytes(intent.nonce)}, ${intent.challenge}, ${intent.createdAt}, ${intent.expiresAt})`,
  );
}

export async function findIntent(queryable: Queryable, id: string): Promise<Intent | null> {
  const row = await queryable.maybe<IntentRow>(
    sql`select ${intentColumns} from payment_intents where id = ${idBytes(id)}`,
  );
  return row && intentOf(row);
}

/** Selects a merchant's intents by subject. A null listing means fees. */
export interface IntentsOf {
  merchantId: bigint;
  purpose: PaymentPurpose;
  listingId: bigint | null;
}

/** Returns the unclaimed intents that are still open at `now`, newest first. */
export async function listUnclaimedIntents(queryable: Queryable, of: IntentsOf, now: Date): Promise<Intent[]> {
  const rows = await queryable.rows<IntentRow>(
    sql`select ${intentColumns} from payment_intents i where ${isUnclaimed(of, now)} order by created_at desc, id`,
  );
  return rows.map(intentOf);
}

/** Written for the index, which supports neither "is not distinct from" nor the end time. An intent ends ten minutes after its start. */
function isUnclaimed({ merchantId, purpose, listingId }: IntentsOf, now: Date): Sql {
  const listing = listingId === null ? sql`i.listing_id is null` : sql`i.listing_id = ${listingId}`;
  return sql`i.merchant_id = ${merchantId} and i.purpose = ${purpose} and ${listing}
    and i.expires_at > ${now} and i.created_at > ${now}::timestamptz - interval '10 minutes' and not exists (select from payments p where p.intent_id = i.id)`;
}

/** Selects a row if an existing intent can be returned again: it has time left, and names this payer if one is given. */
export function usableIntentQuery(of: IntentsOf, payer: Hex | null, until: Date): Sql {
  const named = payer === null ? sql`` : sql`and i.payer = ${toBytes(payer)}`;
  return sql`select 1::int8 from payment_intents i where ${isUnclaimed(of, until)} ${named} limit 1`;
}

/** Deletes some unclaimed intents that ended before that time. Fails if one is claimed at that very moment; then call it again. */
export async function deleteOldIntents(queryable: Queryable, before: Date, most: number): Promise<number> {
  return await queryable.run(sql`
    delete from payment_intents where id = any (array(
      select id from payment_intents i
      where expires_at < ${before} and not exists (select from payments p where p.intent_id = i.id)
        and not exists (select from unproven_claims u where u.intent_id = i.id)
      order by expires_at limit ${most}))`);
}

/**
 * Finds the claim of an intent. Prefers one that is neither unpaid nor rejected, then the one with the highest id; null if there is none.
 * The highest id is not always the newest claim, because an unsigned claim becomes a payment under its own earlier number.
 */
export async function findClaim(queryable: Queryable, intentId: string): Promise<DirectPayment | null> {
  const [claim] = await readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments where intent_id = ${idBytes(intentId)} and beside is null
      order by status in ('unpaid', 'rejected'), id desc limit 1`,
  );
  return isDirect(claim) ? claim : null;
}

function isDirect(payment: Payment | null | undefined): payment is DirectPayment {
  return payment?.path === 'direct';
}

export function isClaimOf(payment: Payment | null, intentId: string): payment is DirectPayment {
  return isDirect(payment) && payment.intentId === intentId;
}

export interface NewClaim {
  intent: Intent;
  payer: Hex;
  bodyHash: Buffer | null;
  /** Whether the buyer already has the goods. */
  surplus: boolean;
}

/** Inserts a claim for an intent, bound to `payer`. Returns null if a unique index allows no second row for this intent, buyer or body. */
export async function insertClaim(
  { clock }: { clock: { now(): number } },
  tx: Tx,
  { intent, ...claim }: NewClaim,
): Promise<DirectPayment | null> {
  const now = new Date(clock.now());
  const [inserted] = await readPayments(
    tx,
    (columns) => sql`
      insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
        intent_id, window_from, window_to, surplus, settling_at, created_at, updated_at)
      values (${intent.purpose}, 'direct', 'settling', ${intent.listingId}, ${intent.merchantId}, ${claim.bodyHash},
        ${intent.chainId}, ${toBytes(intent.asset)}, ${toBytes(intent.payee)}, ${toBytes(claim.payer)}, ${intent.minimumUnits},
        ${idBytes(intent.id)}, ${intent.createdAt}, ${intent.expiresAt}, ${claim.surplus}, ${now}, ${now}, ${now})
      on conflict do nothing
      returning ${columns}`,
  );
  return isDirect(inserted) ? inserted : null;
}

/** Whether this merchant or wallet already has a purchase of the goods. Then a further payment can only be reviewed. */
export async function hasBought(
  queryable: Queryable,
  listingId: bigint,
  by: { merchantId: bigint; payer: Hex },
): Promise<boolean> {
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from purchases where listing_id = ${listingId}
      and (merchant_id = ${by.merchantId} or payer = ${toBytes(by.payer)})) as found`,
  );
  return found;
}

/**
 * Binds the claim to another wallet, which signed before any transfer was final. Transactions that were refused for the previous wallet may
 * match the new one, so the newest are judged again, leaving room for the one named now.
 */
export async function rebindPayer(tx: Tx, id: bigint, payer: Hex, now: Date): Promise<void> {
  await tx.run(sql`update payments set payer = ${toBytes(payer)}, updated_at = ${now} where id = ${id}`);
  await tx.run(sql`
    update claim_hashes set refused_reason = null where payment_id = ${id} and tx_hash in (
      select tx_hash from claim_hashes where payment_id = ${id} and refused_reason in ('wrong_payer', 'transfer_not_found')
      order by place desc limit (select greatest(0, ${MAX_HASHES - 1} - count(*)) from claim_hashes
        where payment_id = ${id} and refused_reason is null))`);
}

/** Number of undecided transactions that one claim may name. */
export const MAX_HASHES = 5;

export interface ClaimHash {
  txHash: Hex;
  /** Block in which it was last seen. Null if it was last seen in none. */
  seenBlock: bigint | null;
  /** Reason why it proves nothing. Null while undecided, and if it proves the claim. */
  refusedReason: string | null;
  /** Whether it is neither refused nor the claim's proof. */
  isUndecided: boolean;
}

/** Returns transactions in the order in which they were named. */
export async function listClaimHashes(queryable: Queryable, paymentId: bigint): Promise<ClaimHash[]> {
  const rows = await queryable.rows<{
    tx_hash: Buffer;
    seen_block: bigint | null;
    refused_reason: string | null;
    proven: boolean;
  }>(
    sql`select tx_hash, seen_block, refused_reason, proven from claim_hashes where payment_id = ${paymentId} order by place`,
  );
  return rows.map((row) => ({
    txHash: toHex(row.tx_hash),
    seenBlock: row.seen_block,
    refusedReason: row.refused_reason,
    isUndecided: row.refused_reason === null && !row.proven,
  }));
}

/** Names a transaction for the first time, or again after it was refused. */
export async function nameHash(tx: Tx, paymentId: bigint, txHash: Hex): Promise<void> {
  await tx.run(
    sql`insert into claim_hashes (payment_id, tx_hash) values (${paymentId}, ${toBytes(txHash)})
      on conflict (payment_id, tx_hash) do update set refused_reason = null`,
  );
}

/** Removes a transaction that was not seen in a block and may never be mined, to make room for another. */
export async function dropHash(tx: Tx, paymentId: bigint, txHash: Hex): Promise<void> {
  await tx.run(sql`delete from claim_hashes where payment_id = ${paymentId} and tx_hash = ${toBytes(txHash)}`);
}

/** Number of refused transactions that a claim remembers. A forgotten one is read again if it is named again. */
const MAX_REFUSED = 20;

export async function refuseHash(tx: Tx, paymentId: bigint, txHash: Hex, reason: string): Promise<void> {
  await tx.run(
    sql`update claim_hashes set refused_reason = ${reason} where payment_id = ${paymentId} and tx_hash = ${toBytes(txHash)}`,
  );
  await tx.run(
    sql`delete from claim_hashes where payment_id = ${paymentId} and refused_reason is not null and place <= (
      select place from claim_hashes where payment_id = ${paymentId} and refused_reason is not null
      order by place desc offset ${MAX_REFUSED} limit 1)`,
  );
}

export async function markProven(tx: Tx, paymentId: bigint, txHash: Hex): Promise<void> {
  await tx.run(
    sql`update claim_hashes set proven = true where payment_id = ${paymentId} and tx_hash = ${toBytes(txHash)}`,
  );
}

export async function noteSeenBlock(
  queryable: Queryable,
  paymentId: bigint,
  txHash: Hex,
  block: bigint | null,
): Promise<void> {
  await queryable.run(
    sql`update claim_hashes set seen_block = ${block} where payment_id = ${paymentId} and tx_hash = ${toBytes(txHash)}
      and seen_block is distinct from ${block}`,
  );
}

/** Whether one of these authorizations belongs to a payment here, ended or not. */
export async function hasAuthorization(
  queryable: Queryable,
  on: { chainId: bigint; asset: Hex },
  authorizations: readonly { authorizer: Hex; nonce: Hex }[],
): Promise<boolean> {
  if (authorizations.length === 0) return false;
  const pairs = authorizations.map(
    ({ authorizer, nonce }) => sql`(${toBytes(authorizer)}::bytea, ${toBytes(nonce)}::bytea)`,
  );
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from payments where chain_id = ${on.chainId} and asset = ${toBytes(on.asset)}
      and (payer, nonce) in (${join(pairs)})) as found`,
  );
  return found;
}

/** Finds the intent's surplus payment by this transaction. Null if there is none yet. */
export async function findSurplus(queryable: Queryable, intentId: string, txHash: Hex): Promise<DirectPayment | null> {
  const [surplus] = await readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments where intent_id = ${Buffer.from(intentId, 'hex')}
      and beside is not null and tx_hash = ${toBytes(txHash)}`,
  );
  return isDirect(surplus) ? surplus : null;
}

/** Inserts a surplus payment with the terms of a decided claim. The caller must move it to review before the transaction ends. */
export async function insertSurplus(tx: Tx, claimId: bigint, now: Date): Promise<DirectPayment> {
  const [inserted] = await readPayments(
    tx,
    (columns) => sql`
      insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
        intent_id, window_from, window_to, surplus, beside, settling_at, created_at, updated_at)
      select purpose, path, 'settling', listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
        intent_id, window_from, window_to, true, id, ${now}, ${now}, ${now}
      from payments where id = ${claimId}
      returning ${columns}`,
  );
  if (!isDirect(inserted)) throw new TypeError('a surplus payment without a claim');
  return inserted;
}

/** Moves a transaction from the claim to the surplus payment made for it. */
export async function moveHashToSurplus(tx: Tx, claimId: bigint, surplusId: bigint, txHash: Hex): Promise<void> {
  await tx.run(
    sql`update claim_hashes set payment_id = ${surplusId}, proven = true
      where payment_id = ${claimId} and tx_hash = ${toBytes(txHash)}`,
  );
}

/** Whether another open claim of the same wallet also names the transaction, which may pay for that claim. */
export async function isNamedElsewhere(
  tx: Tx,
  { id, payer }: Pick<DirectPayment, 'id' | 'payer'>,
  txHash: Hex,
): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(
    sql`select exists (select from payments p join claim_hashes h on h.payment_id = p.id
      where p.status = 'settling' and p.path = 'direct' and p.payer = ${toBytes(payer)} and p.id <> ${id}
        and h.tx_hash = ${toBytes(txHash)} and h.refused_reason is null and not h.proven) as found`,
  );
  return found;
}

/** Returns decided claims that still name undecided transactions, by ascending id. */
export function listWithUndecided(queryable: Queryable, afterId: bigint, limit: number): Promise<Payment[]> {
  return readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments where id > ${afterId}
      and id in (select payment_id from claim_hashes where refused_reason is null and not proven)
      and status not in ('verifying', 'settling') order by id limit ${limit}`,
  );
}
