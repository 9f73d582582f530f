import { Refusal } from '../../platform/refusal.ts';
import type { PageParts } from '../catalog/fragments/page-bytes.ts';
import type { MerchantEntry, Model } from '../catalog/model/model.ts';
import { memberBelow } from '../catalog/sets/posting.ts';
import { merchantJson } from './merchant-json.ts';

export interface StoreAsked {
  handle: string;
  /** Null: no end. */
  limit: number | null;
  /** 0: from the newest on. */
  beforeId: number;
}

export function merchantNamed(model: Model, handle: string): MerchantEntry {
  const merchant = model.merchantOfHandle.get(handle);
  if (merchant === undefined) throw new Refusal('not_found', { detail: 'No merchant has that handle.' });
  return merchant;
}

/** Every listing is live at first, so any listing of the merchant was in the walk of its store. */
export function checkBefore(model: Model, merchant: MerchantEntry, beforeId: number): void {
  if (beforeId !== 0 && model.columns.merchant[beforeId] !== merchant.id)
    throw new Refusal('cursor_invalid', { detail: 'before_id does not name a listing of this store.' });
}

/** One page of a store, newest first: a pin by the maintainer changes nothing there. */
export function storeParts(model: Model, { handle, limit, beforeId }: StoreAsked): PageParts {
  const merchant = merchantNamed(model, handle);
  checkBefore(model, merchant, beforeId);
  const ids = liveBelow(merchant, beforeId === 0 ? model.newestId + 1 : beforeId, limit ?? merchant.live.count);
  const last = ids.at(-1);
  const hasMore = last !== undefined && memberBelow(merchant.live, last) > 0;
  const rest = {
    total: merchant.live.count,
    returned: ids.length,
    page_size: limit ?? ids.length,
    has_more: hasMore,
    next_before_id: hasMore ? last : null,
  };
  return {
    prefix: storePrefix(merchant),
    ids,
    suffix: Buffer.from(`],${JSON.stringify(rest).slice(1)}`),
    outline: false,
  };
}

export function storePrefix(merchant: MerchantEntry): Buffer {
  return Buffer.concat([Buffer.from('{"merchant":'), merchantJson(merchant), Buffer.from(',"listings":[')]);
}

/** Live ones below that id, newest first. */
export function liveBelow(merchant: MerchantEntry, below: number, limit: number): number[] {
  const ids: number[] = [];
  for (let id = memberBelow(merchant.live, below); id > 0 && ids.length < limit; id = memberBelow(merchant.live, id)) {
    ids.push(id);
  }
  return ids;
}
