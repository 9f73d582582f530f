import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Hex, toBytes } from '../../../platform/hex.ts';

export async function noteSigners(
  queryable: Queryable,
  chainId: bigint,
  addresses: readonly Hex[],
  now: Date,
): Promise<void> {
  for (const address of addresses) {
    await queryable.run(
      sql`insert into facilitator_signers as signer (chain_id, address, first_seen_at, last_seen_at)
        values (${chainId}, ${toBytes(address)}, ${now}, ${now})
        on conflict (chain_id, address) do update set last_seen_at = greatest(signer.last_seen_at, excluded.last_seen_at)`,
    );
  }
}

/** Whether any signer was published since then, and whether this address was one of them. */
export async function findSigner(
  queryable: Queryable,
  chainId: bigint,
  address: Hex,
  since: Date,
): Promise<{ anyPublished: boolean; isSigner: boolean }> {
  const row = await queryable.one<{ any_published: boolean; is_signer: boolean }>(
    sql`select exists (select from facilitator_signers where chain_id = ${chainId}) as any_published,
      exists (select from facilitator_signers where chain_id = ${chainId} and address = ${toBytes(address)}
        and last_seen_at >= ${since}) as is_signer`,
  );
  return { anyPublished: row.any_published, isSigner: row.is_signer };
}
