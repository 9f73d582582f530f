import { isoTime } from '../../../platform/clock.ts';
import type { MerchantRow } from '../feed/store.ts';
import { createPosting } from '../sets/posting.ts';
import type { Model } from './model.ts';

export function applyMerchant(model: Model, row: MerchantRow): void {
  const id = Number(row.id);
  const known = model.merchants[id];
  if (known !== undefined) {
    known.storeLine = row.store_line;
    known.cityHandle = row.city_handle;
    known.json = null;
    return;
  }
  const merchant = {
    id,
    handle: row.handle,
    joinedAt: isoTime(row.joined_at),
    storeLine: row.store_line,
    cityHandle: row.city_handle,
    live: createPosting(),
    sales: 0,
    json: null,
  };
  model.merchants[id] = merchant;
  model.merchantCount += 1;
  model.merchantOfHandle.set(row.handle, merchant);
}
