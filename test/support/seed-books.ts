import sql from 'sql-template-tag';
import type { Database } from '../../src/platform/database/database.ts';

let batches = 0;

/**
 * Inserts many paid fees with payments and proofs. The first merchant pays half of them, the next half of the rest, and so on. Blocks are
 * spread evenly over the time range.
 */
export async function seedFees(
  database: Database,
  count: number,
  { merchants, from, to }: { merchants: readonly bigint[]; from: Date; to: Date },
): Promise<void> {
  batches += 1;
  const batch = `fees ${batches}`;
  await database.transaction(async (tx) => {
    await tx.lock('listings');
    await tx.run(sql`
      create temporary table paid on commit drop as
      select n, ${from}::timestamptz + (${to}::timestamptz - ${from}::timestamptz) * (n - 1) / greatest(${count}::int - 1, 1) as at,
        (${merchants as bigint[]}::bigint[])[1 + least(length(substring(reverse(n::bit(32)::text) from '^0*')), ${merchants.length}::int - 1)] as merchant_id,
        sha256(convert_to(${batch} || ' ' || n, 'UTF8')) as hash, null::bigint as payment_id
      from generate_series(1, ${count}::int) n`);
    await tx.run(sql`
      with made as (
        insert into payments (purpose, path, status, merchant_id, body_hash, chain_id, asset, payee, payer, value_units, nonce,
          valid_after, valid_before, opened_block, created_at, updated_at)
        select 'listing_fee', 'x402', 'verifying', merchant_id, hash, 8453, substr(hash, 1, 20), substr(hash, 1, 20),
          substr(hash, 1, 20), 1000000, hash, 0, 2000000000, 1, at, at from paid order by n
        returning id, body_hash
      ) update paid set payment_id = made.id from made where made.body_hash = paid.hash`);
    await tx.run(sql`
      insert into payment_proofs (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index, value_units, written_at)
      select hash, 'listing_fee', payment_id, 1000 + n, hash, at, 0, 1000000, at from paid`);
    await tx.run(sql`
      update payments set status = 'completed', tx_hash = hash, block_number = 1000 + n, block_time = at, ended_at = at
      from paid where payments.id = paid.payment_id`);
    await tx.run(sql`
      insert into fees (id, merchant_id, payment_id, amount_units, running_units, tx_hash, verified_via, block_time, created_at)
      select (select coalesce(max(id), 0) from fees) + n, merchant_id, payment_id, 1000000,
        (select coalesce(max(running_units), 0) from fees) + n::bigint * 1000000, hash, 'x402', at, at
      from paid order by n`);
  });
}
