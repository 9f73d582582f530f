import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';

/** Payments of one kind that are undecided, and when the oldest of them began. */
export interface OpenPayments {
  path: 'x402' | 'direct';
  status: string;
  count: number;
  oldest: Date;
}

export async function countOpenPayments(queryable: Queryable): Promise<OpenPayments[]> {
  const rows = await queryable.rows<{ path: 'x402' | 'direct'; status: string; count: bigint; oldest: Date }>(
    sql`select path, status, count(*) as count, min(created_at) as oldest from payments
      where status in ('verifying', 'settling') group by path, status order by path, status`,
  );
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

export async function countReviews(queryable: Queryable): Promise<number> {
  const { count } = await queryable.one<{ count: bigint }>(
    sql`select count(*) as count from payments where status = 'needs_review'`,
  );
  return Number(count);
}

/** What waits for the chain, and since when. */
export interface OpenTimes {
  /** The lowest block with a transfer that is not final yet. */
  oldestSeen: { blockNumber: bigint; blockTime: Date } | null;
  /** When the newest payment without a block was opened, and the oldest. */
  newestUnseen: Date | null;
  oldestUnseen: Date | null;
  /** Some claim that is decided on names more transactions. */
  hasUndecided: boolean;
}

export async function findOpenTimes(queryable: Queryable): Promise<OpenTimes> {
  const row = await queryable.one<{
    block_number: bigint | null;
    block_time: Date | null;
    newest_unseen: Date | null;
    oldest_unseen: Date | null;
    has_undecided: boolean;
  }>(
    sql`select min(block_number) as block_number, min(block_time) as block_time,
        max(created_at) filter (where block_number is null) as newest_unseen,
        min(created_at) filter (where block_number is null) as oldest_unseen,
        exists (select from claim_hashes where refused_reason is null and not proven) as has_undecided
      from payments where status in ('verifying', 'settling')`,
  );
  const { block_number: blockNumber, block_time: blockTime } = row;
  const oldestSeen = blockNumber === null || blockTime === null ? null : { blockNumber, blockTime };
  const { newest_unseen: newestUnseen, oldest_unseen: oldestUnseen, has_undecided: hasUndecided } = row;
  return { oldestSeen, newestUnseen, oldestUnseen, hasUndecided };
}
