import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { presentMerchant } from './present-merchant.ts';
import { readMerchants } from './store.ts';

/** One page of all merchants. Given an open transaction, it is of its snapshot. */
export async function readMerchantPage(database: Queryable, page: { limit: number; afterId: bigint | null }) {
  const slice = await readMerchants(database, { ...page, limit: page.limit + 1 });
  if (!slice.cursorKnown) throw new Refusal('cursor_invalid', { detail: 'after_id does not name a merchant.' });
  const merchants = slice.rows.slice(0, page.limit).map(presentMerchant);
  const hasMore = slice.rows.length > merchants.length;
  return {
    merchants,
    total: Number(slice.total),
    returned: merchants.length,
    page_size: page.limit,
    has_more: hasMore,
    next_after_id: hasMore ? (merchants.at(-1)?.id ?? null) : null,
  };
}
