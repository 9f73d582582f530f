import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';

export interface ChainStatus {
  /** Number of signers in the facilitator's last answer. Null if it never answered. */
  published: number | null;
  block_number: bigint | null;
  block_time: Date | null;
}

export async function readChainStatus(
  database: Queryable,
  chainId: bigint,
  facilitatorUrl: string,
): Promise<ChainStatus> {
  return database.one<ChainStatus>(sql`
    select reading.published, mark.block_number, mark.block_time
    from (select 1) always left join chain_watermarks mark on mark.chain_id = ${chainId}
    left join facilitator_readings reading on reading.chain_id = ${chainId} and reading.url = ${facilitatorUrl}`);
}
