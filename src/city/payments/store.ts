import sql from 'sql-template-tag';
import type { Watermark } from '../../platform/chain/accept-head.ts';
import type { FinalizedHead } from '../../platform/chain/sighting.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { toBytes, toHex } from '../../platform/hex.ts';

export async function findWatermark(queryable: Queryable, chainId: bigint): Promise<Watermark | null> {
  const row = await queryable.maybe<{ block_number: bigint; block_hash: Buffer; block_time: Date; accepted_at: Date }>(
    sql`select block_number, block_hash, block_time, accepted_at from chain_watermarks where chain_id = ${chainId}`,
  );
  if (row === null) return null;
  return {
    number: row.block_number,
    hash: toHex(row.block_hash),
    timestamp: BigInt(row.block_time.getTime() / 1_000),
    acceptedAt: row.accepted_at.getTime(),
  };
}

/** Only ever forward: a higher one, written by another process meanwhile, stays. */
export async function raiseWatermark(
  queryable: Queryable,
  chainId: bigint,
  head: FinalizedHead,
  now: Date,
): Promise<void> {
  await queryable.run(
    sql`insert into chain_watermarks as mark (chain_id, block_number, block_hash, block_time, accepted_at)
      values (${chainId}, ${head.number}, ${toBytes(head.hash)}, ${new Date(Number(head.timestamp) * 1_000)}, ${now})
      on conflict (chain_id) do update set block_number = excluded.block_number, block_hash = excluded.block_hash,
        block_time = excluded.block_time, accepted_at = excluded.accepted_at
      where excluded.block_number > mark.block_number`,
  );
}
