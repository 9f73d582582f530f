import type { MerchantRecord } from '../../contract/listings.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import type { MerchantRow } from './store.ts';

export function presentMerchant(row: MerchantRow): MerchantRecord {
  return {
    id: Number(row.id),
    handle: row.handle,
    joined_at: isoTime(row.joined_at),
    store_line: row.store_line,
    store_url: `/api/store/${row.handle}`,
    listings: Number(row.listings),
    sales: Number(row.sales),
    maintainer: row.id === BigInt(MAINTAINER_MERCHANT_ID),
    city_handle: row.city_handle,
  };
}
