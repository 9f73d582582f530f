import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';

export interface ChainStanding {
  signers: bigint;
  block_number: bigint | null;
  block_time: Date | null;
}

export async function readChainStanding(database: Queryable, chainId: bigint): Promise<ChainStanding> {
  return database.one<ChainStanding>(sql`
    select (select count(*) from facilitator_signers where chain_id = ${chainId}) as signers, mark.block_number, mark.block_time
    from (select 1) always left join chain_watermarks mark on mark.chain_id = ${chainId}`);
}
