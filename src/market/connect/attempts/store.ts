import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { SignInProof } from '../interaction.ts';

/** An attempt to connect, stored under the SHA-256 of its uid. */
interface Attempt {
  wrongTries: number;
  proof: SignInProof | null;
  handle: string | null;
  /** Whether the key that was valid at the time of the proof is still valid. */
  isCurrent: boolean;
  isDecided: boolean;
}

interface AttemptRow {
  wrong_tries: number;
  merchant_id: bigint | null;
  key_id: bigint | null;
  proved_by: SignInProof['provedBy'] | null;
  handle: string | null;
  is_current: boolean;
  is_decided: boolean;
}

const SELECT_ATTEMPT = sql`
  select wrong_tries, merchant_id, key_id, proved_by, decided_at is not null as is_decided,
    (select handle from merchants where merchants.id = merchant_id) as handle,
    exists (select from merchant_keys where merchant_keys.id = key_id and revoked_at is null) as is_current
  from connect_proofs`;

/** Returns null if no step of the attempt has been recorded. */
export async function readAttempt(database: Queryable, hash: Buffer): Promise<Attempt | null> {
  return attemptOf(await database.maybe<AttemptRow>(sql`${SELECT_ATTEMPT} where interaction_hash = ${hash}`));
}

/** Locks the attempt's row, inserting it first if needed, so that its steps run one at a time. */
export async function lockAttempt(tx: Tx, hash: Buffer, at: Date): Promise<Attempt | null> {
  await tx.run(sql`
    insert into connect_proofs (interaction_hash, begun_at) values (${hash}, ${at}) on conflict do nothing`);
  await tx.run(sql`select from connect_proofs where interaction_hash = ${hash} for update`);
  return await readAttempt(tx, hash);
}

function attemptOf(row: AttemptRow | null): Attempt | null {
  if (row === null) return null;
  const { merchant_id: merchantId, key_id: keyId, proved_by: provedBy } = row;
  const isProven = merchantId !== null && keyId !== null && provedBy !== null;
  return {
    wrongTries: row.wrong_tries,
    proof: isProven ? { merchantId, keyId, provedBy } : null,
    handle: row.handle,
    isCurrent: row.is_current,
    isDecided: row.is_decided,
  };
}

export async function countWrongTry(tx: Tx, hash: Buffer): Promise<void> {
  await tx.run(sql`update connect_proofs set wrong_tries = wrong_tries + 1 where interaction_hash = ${hash}`);
}

export async function recordProof(tx: Tx, hash: Buffer, proof: SignInProof, at: Date): Promise<void> {
  await tx.run(sql`
    update connect_proofs set merchant_id = ${proof.merchantId}, key_id = ${proof.keyId}, proved_by = ${proof.provedBy},
      proved_at = ${at}
    where interaction_hash = ${hash}`);
}

export async function recordDecision(tx: Tx, hash: Buffer, as: 'allowed' | 'canceled', at: Date): Promise<void> {
  await tx.run(sql`
    update connect_proofs set decided_at = ${at}, decided_as = ${as} where interaction_hash = ${hash}`);
}

/** Clears the decision of an attempt whose consent failed. */
export async function forgetDecision(database: Queryable, hash: Buffer): Promise<void> {
  await database.run(sql`
    update connect_proofs set decided_at = null, decided_as = null where interaction_hash = ${hash}`);
}

/** Uses up a pairing code. Returns its merchant with the current key. Null if the code is not valid or the merchant has no valid key. */
export async function redeemCode(
  tx: Tx,
  hashes: readonly Buffer[],
  at: Date,
): Promise<{ merchantId: bigint; keyId: bigint } | null> {
  const row = await tx.maybe<{ merchant_id: bigint; key_id: bigint }>(sql`
    with redeemed as (
      update pairing_codes set ended_at = ${at}, ended_as = 'redeemed'
      where code_hash = any (${hashes}::bytea[]) and ended_at is null and expires_at > ${at} returning merchant_id
    )
    select redeemed.merchant_id, merchant_keys.id as key_id
    from redeemed join merchant_keys on merchant_keys.merchant_id = redeemed.merchant_id and revoked_at is null`);
  return row === null ? null : { merchantId: row.merchant_id, keyId: row.key_id };
}

export async function sweepAttempts(database: Queryable, begunBefore: Date): Promise<void> {
  await database.run(sql`
    delete from connect_proofs where interaction_hash = any (array(
      select interaction_hash from connect_proofs where begun_at < ${begunBefore}
      order by begun_at limit 50 for update skip locked
    ))`);
}
