import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../platform/hex.ts';

export interface DownloadToken {
  hash: Buffer;
  listingId: bigint;
  payer: Hex;
  expiresAt: Date;
}

export async function insertToken(queryable: Queryable, token: DownloadToken): Promise<void> {
  await queryable.run(
    sql`insert into download_tokens (token_hash, listing_id, payer, expires_at)
      values (${token.hash}, ${token.listingId}, ${toBytes(token.payer)}, ${token.expiresAt})`,
  );
}

/** Finds the payer to whom a token for these goods was given. Null if it has expired, or there is none. */
export async function findTokenPayer(
  queryable: Queryable,
  { hash, listingId, now }: { hash: Buffer; listingId: bigint; now: Date },
): Promise<Hex | null> {
  const row = await queryable.maybe<{ payer: Buffer }>(
    sql`select payer from download_tokens where token_hash = ${hash} and listing_id = ${listingId} and expires_at > ${now}`,
  );
  return row && toHex(row.payer);
}

/** Deletes up to `limit` expired tokens. Runs whenever one is added, so the table stays small. */
export async function pruneTokens(queryable: Queryable, before: Date, limit: number): Promise<void> {
  await queryable.run(
    sql`delete from download_tokens where ctid in (
      select ctid from download_tokens where expires_at < ${before} order by expires_at limit ${limit} for update skip locked)`,
  );
}
