import sql from 'sql-template-tag';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';

/** Reads all facts in one statement, so that they are from the same moment. */
export async function readPublishedFacts(
  database: Queryable,
  chainId: bigint,
  facilitatorUrl: string,
): Promise<{ maintainer: string | null; signers: Buffer[]; provenHosts: string[] }> {
  return database.one(sql`
    select (select handle from merchants where id = ${MAINTAINER_MERCHANT_ID}) as maintainer,
      array(
        select signer.address from facilitator_readings reading
        join facilitator_signers signer on signer.chain_id = reading.chain_id and signer.last_seen_at >= reading.read_at
        where reading.chain_id = ${chainId} and reading.url = ${facilitatorUrl} and reading.published > 0
        order by signer.first_seen_at, signer.address
      ) as signers,
      array(select host from hosted_proven_hosts order by host) as "provenHosts"`);
}
