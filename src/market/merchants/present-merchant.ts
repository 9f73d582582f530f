import { mixesLookAlikes } from '../../contract/look-alikes.ts';
import type { MerchantRecord } from '../../contract/merchant-record.ts';
import { LOOK_ALIKE_NOTE } from '../../contract/seen-text.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import type { MerchantEntry } from '../catalog/model/model.ts';
import type { MerchantRow } from './store.ts';

export function presentMerchant(row: MerchantRow): MerchantRecord {
  return {
    id: Number(row.id),
    handle: row.handle,
    joined_at: isoTime(row.joined_at),
    store_line: row.store_line,
    ...(mixesLookAlikes(row.store_line) ? { store_line_note: LOOK_ALIKE_NOTE } : {}),
    store_url: `/api/store/${row.handle}`,
    listings: Number(row.listings),
    sales: Number(row.sales),
    maintainer: row.id === BigInt(MAINTAINER_MERCHANT_ID),
    city_handle: row.city_handle,
  };
}

function recordOf(merchant: MerchantEntry): MerchantRecord {
  const { id, handle, joinedAt, storeLine, cityHandle, live, sales } = merchant;
  return presentMerchant({
    id: BigInt(id),
    handle,
    joined_at: new Date(joinedAt),
    store_line: storeLine,
    city_handle: cityHandle,
    listings: BigInt(live.count),
    sales: BigInt(sales),
  });
}

/** Returns the merchant's JSON, which is cached until the merchant changes. */
export function merchantJson(merchant: MerchantEntry): Buffer {
  merchant.json ??= Buffer.from(JSON.stringify(recordOf(merchant)));
  return merchant.json;
}
