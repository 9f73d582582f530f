import sql from 'sql-template-tag';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';

/** One statement, so that the facts are of one moment. */
export async function readPublishedFacts(
  database: Queryable,
  chainId: bigint,
): Promise<{ maintainer: string | null; signers: Buffer[] }> {
  return database.one(sql`
    select (select handle from merchants where id = ${MAINTAINER_MERCHANT_ID}) as maintainer,
      array(
        select address from facilitator_signers where chain_id = ${chainId} order by first_seen_at, address
      ) as signers`);
}
