import sql from 'sql-template-tag';
import { handleSkeleton } from '../../contract/handles.ts';
import type { PaymentPurpose } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, toBytes } from '../../platform/hex.ts';
import { findHighest, type Losses, lossColumns } from '../../platform/log-copy/store.ts';
import type { Lost, LostListing } from './find-lost.ts';

/** Tables whose ids come from `next_id` (`NUMBERED`) or from a sequence (`SEQUENCED`). Clients see all of these ids. */
export const NUMBERED = ['merchants', 'listings', 'comments', 'fees', 'world_drafts', 'world_checkouts'] as const;
export const SEQUENCED = ['payments', 'purchases', 'removals', 'appeals', 'flags'] as const;

export interface Recovery {
  chainId: bigint;
  fromBlock: bigint;
  toBlock: bigint;
  reason: string;
  keptEventId: bigint;
  /** The next id that the log will issue. */
  eventId: bigint;
  found: Readonly<Record<string, unknown>>;
  now: Date;
}

/** Call before other changes, because the database allows them only in the transaction that inserts the recovery. */
export async function insertRecovery(tx: Tx, recovery: Recovery): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
    values (${recovery.chainId}, ${recovery.fromBlock}, ${recovery.toBlock}, ${recovery.reason}, ${recovery.keptEventId}, ${recovery.eventId},
      ${JSON.stringify(recovery.found)}::jsonb, ${recovery.now})
    returning id`);
  return id;
}

export async function endLoss(tx: Tx, recoveryId: bigint): Promise<void> {
  await tx.run(sql`update history_losses set recovered_by = ${recoveryId} where recovered_by is null`);
}

/** Finds the highest id. Unsigned claims share the payments' sequence and become payments under their numbers, so they count as well. */
export async function findHighestOf(queryable: Queryable, table: string): Promise<bigint> {
  const own = await findHighest(queryable, table);
  if (table !== 'payments') return own;
  const unproven = await findHighest(queryable, 'unproven_claims');
  return own > unproven ? own : unproven;
}

/** Raises the sequence; never lowers it. */
export async function raiseSequence(tx: Tx, table: string, id: bigint): Promise<void> {
  await tx.run(sql`
    select setval(name, greatest(${id}::int8, pg_sequence_last_value(name)))
    from (select pg_get_serial_sequence(${table}, 'id')::regclass as name) as sequence`);
}

/** Makes every thing due that is neither sold nor canceled, so that the city is asked about it at once. */
export async function markThingsForCheck(tx: Tx): Promise<void> {
  await tx.run(sql`
    update world_listings set looked_at = 'epoch' from listings l
    where l.id = listing_id and l.state in ('live', 'withdrawn', 'removed', 'stale') and reviewed_at is null`);
}

/** Inserts a merchant without key and codes, so that no caller can act for it and no other merchant can take its handle. */
export async function reserveHandle(tx: Tx, { merchantId, handle, at }: Lost['registered'][number]): Promise<number> {
  return tx.run(sql`
    insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
    values (${merchantId}, ${handle}, ${handleSkeleton(handle)}, 'lost', 'coding_persistent', ${at})
    on conflict do nothing`);
}

export async function insertLostListing(
  tx: Tx,
  recoveryId: bigint,
  lost: Omit<LostListing, 'priceUsdc'> & { priceUnits: bigint },
): Promise<void> {
  await tx.run(sql`
    insert into lost_listings (id, recovery_id, merchant_id, payee, artifact_commitment, price_units)
    values (${lost.id}, ${recoveryId}, ${lost.merchantId}, ${lost.payee === null ? null : toBytes(lost.payee as `0x${string}`)},
      ${lost.commitment === null ? null : toBytes(lost.commitment as `0x${string}`)}, ${lost.priceUnits})
    on conflict do nothing`);
}

/**
 * Revokes the key that the database calls current, because that key was replaced in the lost part. Only a recovery code can let the
 * merchant in again.
 */
export async function revokeKey(tx: Tx, merchantId: bigint, recoveryId: bigint, at: Date): Promise<number> {
  const count = await tx.run(sql`
    insert into identity_locks (merchant_id, until, recovery_id)
    select id, 'recover', ${recoveryId} from merchants where id = ${merchantId}
    on conflict (merchant_id) do update set until = 'recover', recovery_id = excluded.recovery_id`);
  await tx.run(
    sql`update merchant_keys set revoked_at = ${at} where merchant_id = ${merchantId} and revoked_at is null`,
  );
  return count;
}

/** Restricts every merchant to reading and rotating its key, because it is unknown whose key was replaced. */
export async function lockAll(tx: Tx, recoveryId: bigint): Promise<number> {
  return tx.run(sql`
    insert into identity_locks (merchant_id, until, recovery_id) select id, 'rotate', ${recoveryId} from merchants
    on conflict (merchant_id) do nothing`);
}

/** Ends pending changes, pairing codes and grants from before the loss, because it is unknown whether they were ended since. */
export async function endAccess(tx: Tx, at: Date): Promise<void> {
  await tx.run(sql`update identity_stages set closed_at = ${at}, closed_as = 'superseded' where closed_at is null`);
  await tx.run(sql`update pairing_codes set ended_at = ${at}, ended_as = 'revoked' where ended_at is null`);
  await tx.run(sql`update hosted_grants set revoked_at = ${at} where revoked_at is null`);
}

/** Whether this merchant may do nothing but replace its key. */
export async function isLocked(queryable: Queryable, merchantId: bigint): Promise<boolean> {
  const { locked } = await queryable.one<{ locked: boolean }>(
    sql`select exists (select from identity_locks where merchant_id = ${merchantId}) as locked`,
  );
  return locked;
}

export async function wasRecoveredSince(queryable: Queryable, at: Date): Promise<boolean> {
  const { was } = await queryable.one<{ was: boolean }>(
    sql`select exists (select from recoveries where recoveries.at > ${at}) as was`,
  );
  return was;
}

/** Whether a recovery found that this payment was refunded in the lost part. */
export async function wasRefunded(queryable: Queryable, paymentId: bigint): Promise<boolean> {
  const { was } = await queryable.one<{ was: boolean }>(
    sql`select exists (select from recoveries where found->'refunded' ? ${paymentId.toString()}) as was`,
  );
  return was;
}

export interface PaidListing {
  listingId: bigint;
  payee: Hex;
  priceUnits: bigint;
  /** Time of the payment. */
  at: Date;
}

/** Whether the listing that was paid for still exists. If its id was issued twice, the other listing is younger than the payment. */
export async function hasListing(
  queryable: Queryable,
  { listingId, payee, priceUnits, at }: PaidListing,
): Promise<boolean> {
  const { has } = await queryable.one<{ has: boolean }>(sql`
    select exists (select from listings where id = ${listingId} and seller_wallet = ${toBytes(payee)} and price_units = ${priceUnits}
        and created_at <= ${at})
      and not exists (select from lost_listings where id = ${listingId}) as has`);
  return has;
}

/** Whether the merchant who paid still exists, and not a younger one with the same id. */
export async function hasMerchant(queryable: Queryable, id: bigint, at: Date): Promise<boolean> {
  const { has } = await queryable.one<{ has: boolean }>(
    sql`select exists (select from merchants where id = ${id} and joined_at <= ${at}) as has`,
  );
  return has;
}

export async function hasIntent(queryable: Queryable, id: string): Promise<boolean> {
  const { has } = await queryable.one<{ has: boolean }>(
    sql`select exists (select from payment_intents where id = ${Buffer.from(id, 'hex')}) as has`,
  );
  return has;
}

export interface LostPayment {
  /** The payment's former number. Kept unless another payment or an unsigned claim has taken it. */
  id: bigint;
  purpose: PaymentPurpose;
  listingId: bigint | null;
  merchantId: bigint | null;
  bodyHash: Buffer | null;
  chainId: bigint;
  asset: Hex;
  payee: Hex;
  payer: Hex;
  valueUnits: bigint;
  nonce: Hex;
  validAfter: bigint;
  validBefore: bigint;
  openedBlock: bigint;
  tokenHash: Buffer | null;
  signersReadAt: Date | null;
  createdAt: Date;
  now: Date;
}

/**
 * Restores a payment as `settling`, because it may have been submitted, so that only the chain ends it. Does nothing if a unique index
 * already has the authorization, payer, merchant or body in another row.
 */
export async function insertLostPayment(tx: Tx, lost: LostPayment): Promise<void> {
  const made = await tx.maybe<{ id: bigint }>(sql`
    insert into payments (id, purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units, nonce,
      valid_after, valid_before, opened_block, delivery_token_hash, signers_read_at, created_at, updated_at)
    overriding system value
    values (case when exists (select from payments where id = ${lost.id}) or exists (select from unproven_claims where id = ${lost.id}) then nextval(pg_get_serial_sequence('payments', 'id')) else ${lost.id} end,
      ${lost.purpose}, 'x402', 'verifying', ${lost.listingId}, ${lost.merchantId}, ${lost.bodyHash}, ${lost.chainId},
      ${toBytes(lost.asset)}, ${toBytes(lost.payee)}, ${toBytes(lost.payer)}, ${lost.valueUnits}, ${toBytes(lost.nonce)},
      ${lost.validAfter}, ${lost.validBefore}, ${lost.openedBlock}, ${lost.tokenHash}, ${lost.signersReadAt}, ${lost.createdAt}, ${lost.now})
    on conflict do nothing returning id`);
  if (made === null) return;
  await tx.run(sql`update payments set status = 'settling', settling_at = created_at where id = ${made.id}`);
}

/** Finds the merchant with this handle if only a recovery code can let it in again. */
export async function findLocked(queryable: Queryable, handle: string): Promise<bigint | null> {
  const row = await queryable.maybe<{ id: bigint }>(sql`
    select m.id from merchants m join identity_locks l on l.merchant_id = m.id where m.handle = ${handle} and l.until = 'recover'`);
  return row?.id ?? null;
}

export interface MarketLosses extends Losses {
  /** Whether some merchant must still replace its key after a recovery. */
  locks: boolean;
  /** Time of the last recovery. Null if there was none. */
  recoveredAt: Date | null;
}

export async function readLosses(queryable: Queryable): Promise<MarketLosses> {
  return queryable.one<MarketLosses>(sql`
    select ${lossColumns},
      exists (select from identity_locks) as locks,
      (select max(at) from recoveries) as "recoveredAt"`);
}
