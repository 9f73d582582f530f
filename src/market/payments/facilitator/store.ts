import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { type Hex, toBytes } from '../../../platform/hex.ts';

export interface SignerReading {
  chainId: bigint;
  url: string;
  addresses: readonly Hex[];
  now: Date;
}

/** What a facilitator answered. Signers of the past stay known, with the time until which they were named. */
export async function noteReading(tx: Tx, { chainId, url, addresses, now }: SignerReading): Promise<void> {
  await tx.run(
    sql`insert into facilitator_readings as reading (chain_id, url, read_at, published)
      values (${chainId}, ${url}, ${now}, ${addresses.length}::int)
      on conflict (chain_id, url) do update set read_at = excluded.read_at, published = excluded.published
      where reading.read_at <= excluded.read_at`,
  );
  for (const address of addresses) {
    await tx.run(
      sql`insert into facilitator_signers as signer (chain_id, address, first_seen_at, last_seen_at)
        values (${chainId}, ${toBytes(address)}, ${now}, ${now})
        on conflict (chain_id, address) do update set last_seen_at = greatest(signer.last_seen_at, excluded.last_seen_at)`,
    );
  }
}

/** When that facilitator last answered, and how many signers it named; null when it never did. */
export async function findReading(
  queryable: Queryable,
  chainId: bigint,
  url: string,
): Promise<{ readAt: Date; published: number } | null> {
  const row = await queryable.maybe<{ read_at: Date; published: number }>(
    sql`select read_at, published from facilitator_readings where chain_id = ${chainId} and url = ${url}`,
  );
  return row && { readAt: row.read_at, published: row.published };
}

/** Whether a facilitator named this address in the last answer before a payment was opened, or in any since. */
export async function wasSigner(
  queryable: Queryable,
  chainId: bigint,
  address: Hex,
  since: Date | null,
): Promise<boolean> {
  const row = await queryable.one<{ found: boolean }>(
    sql`select exists (select from facilitator_signers where chain_id = ${chainId} and address = ${toBytes(address)}
      and last_seen_at >= coalesce(${since}::timestamptz, '-infinity')) as found`,
  );
  return row.found;
}
