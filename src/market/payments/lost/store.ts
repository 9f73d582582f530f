import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../../platform/hex.ts';

/** For so long after a recovery the chain is searched for a lost payment before a buyer may pay, unless the request waives that. */
export const RECENT_RECOVERY_MS = 30 * 86_400_000;

/** Blocks whose transfers may have been in books that were lost. */
export interface LostWindow {
  fromBlock: bigint;
  toBlock: bigint;
}

/** Of the recoveries since then, the newest first. */
export async function listLostWindows(queryable: Queryable, chainId: bigint, since: Date): Promise<LostWindow[]> {
  return await queryable.rows<LostWindow>(sql`
    select from_block as "fromBlock", to_block as "toBlock" from recoveries
    where chain_id = ${chainId} and at > ${since} order by id desc`);
}

/** Those of the transactions that no payment names and that prove nothing, in the order given. */
export async function leaveUnbooked(queryable: Queryable, hashes: readonly Hex[]): Promise<Hex[]> {
  const rows = await queryable.rows<{ hash: Buffer }>(sql`
    select hash from unnest(${hashes.map(toBytes)}::bytea[]) with ordinality as found (hash, nth)
    where not exists (select from payment_proofs where tx_hash = hash)
      and not exists (select from payments where tx_hash = hash)
    order by nth`);
  return rows.map(({ hash }) => toHex(hash));
}
