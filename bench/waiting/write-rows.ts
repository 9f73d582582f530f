import sql from 'sql-template-tag';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import type { Database } from '../../src/platform/database/database.ts';
import type { Transferred } from './past-chain.ts';
import { FINALITY_BLOCKS } from './settings.ts';

/** Writes payments as the market would have: opened, submitted, and found in their blocks. */
export async function writeRows(books: Database, payments: readonly Transferred[]): Promise<void> {
  const { chainId, usdc } = NETWORKS.base;
  const rows = payments.map(({ goods, buyer, authorization, txHash, blockNumber, blockTime }) => ({
    listing: Number(goods.id),
    buyer,
    payee: goods.payee.slice(2),
    payer: authorization.from.slice(2),
    units: Number(goods.priceUnits),
    nonce: authorization.nonce.slice(2),
    before: Number(authorization.validBefore),
    opened: Math.max(0, blockNumber - FINALITY_BLOCKS),
    tx: txHash.slice(2),
    block: blockNumber,
    at: blockTime.toISOString(),
  }));
  const given = sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g (listing int8, buyer int, payee text, payer text,
    units int8, nonce text, before int8, opened int8, tx text, block int8, at timestamptz)`;
  await books.transaction(async (tx) => {
    await tx.run(sql`
      insert into payments (purpose, path, status, listing_id, merchant_id, chain_id, asset, payee, payer, value_units, nonce,
        valid_after, valid_before, opened_block, created_at, updated_at)
      select 'purchase', 'x402', 'verifying', g.listing, key.merchant_id, ${chainId}, decode(${usdc.slice(2)}, 'hex'),
        decode(g.payee, 'hex'), decode(g.payer, 'hex'), g.units, decode(g.nonce, 'hex'), 0, g.before, g.opened, g.at, g.at
      from ${given} join (select merchant_id, row_number() over (order by merchant_id) - 1 as number from merchant_keys) key
        on key.number = g.buyer`);
    const moved = await tx.run(sql`
      update payments set status = 'settling', settling_at = g.at, tx_hash = decode(g.tx, 'hex'), block_number = g.block,
        block_time = g.at from ${given} where payments.nonce = decode(g.nonce, 'hex')`);
    if (moved !== rows.length) throw new Error(`${moved} rows for ${rows.length} payments`);
  });
}

/** Counts payments by how they ended. */
export async function countEnds(books: Database, payments: readonly Transferred[]): Promise<Record<string, number>> {
  const listings = payments.map(({ goods }) => goods.id);
  const rows = await books.rows<{ status: string; count: bigint }>(
    sql`select status, count(*) as count from payments where listing_id = any(${listings}::int8[]) group by status`,
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}
