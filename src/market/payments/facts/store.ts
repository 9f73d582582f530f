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
