import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Hex, toBytes } from '../../../platform/hex.ts';

/** A collecting signature in the hands of one caller. */
export interface ShownSignature {
  payer: Hex;
  nonce: Hex;
  /** Null: a caller without a key. */
  merchantId: bigint | null;
}

export async function wasShown(queryable: Queryable, { payer, nonce, merchantId }: ShownSignature): Promise<boolean> {
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from collect_signatures where payer = ${toBytes(payer)} and nonce = ${toBytes(nonce)}
      and merchant_id is not distinct from ${merchantId}) as found`,
  );
  return found;
}

/** False when that caller has collected with it already, whichever process it was. */
export async function noteShown(queryable: Queryable, shown: ShownSignature, endsAt: Date): Promise<boolean> {
  const touched = await queryable.run(
    sql`insert into collect_signatures (payer, nonce, merchant_id, ends_at)
      values (${toBytes(shown.payer)}, ${toBytes(shown.nonce)}, ${shown.merchantId}, ${endsAt})
      on conflict do nothing`,
  );
  return touched === 1;
}

/** Forgets some of those that ran out before then; each use takes more away than it adds. */
export async function pruneShown(queryable: Queryable, before: Date, limit: number): Promise<void> {
  await queryable.run(
    sql`delete from collect_signatures where ctid in (
      select ctid from collect_signatures where ends_at < ${before} order by ends_at limit ${limit} for update skip locked)`,
  );
}
