import type { MerchantRecord } from '../../contract/listings.ts';
import type { MerchantEntry } from '../catalog/model/model.ts';
import { presentMerchant } from './present-merchant.ts';

export function recordOf(merchant: MerchantEntry): MerchantRecord {
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

/** Kept with the merchant until something about it changes. */
export function merchantJson(merchant: MerchantEntry): Buffer {
  merchant.json ??= Buffer.from(JSON.stringify(recordOf(merchant)));
  return merchant.json;
}
