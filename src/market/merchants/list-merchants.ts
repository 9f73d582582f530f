import type { Endpoints } from '../../contract/index.ts';
import { listMerchants } from '../../contract/merchants.ts';
import { Refusal } from '../../platform/refusal.ts';
import { type MemoryRead, readQueryAs } from '../catalog/answers.ts';
import type { PageParts } from '../catalog/fragments/page-bytes.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MerchantEntry, Model } from '../catalog/model/model.ts';
import type { MarketRead } from '../context.ts';
import { merchantJson } from './present-merchant.ts';

export function merchantsFromMemory({ answers }: MarketCatalog): MemoryRead {
  return ({ query, request }) => {
    const read = readQueryAs(listMerchants.query, query);
    if (read === null) return null;
    const page = { limit: read.limit, afterId: Number(read.after_id ?? 0n) };
    return answers.fromMemory(request, (model) => merchantParts(model, page));
  };
}

export function makeListMerchants({ answers }: MarketCatalog): MarketRead<Endpoints['listMerchants']> {
  return async (_market, call) => {
    const { limit, after_id } = call.query;
    const page = { limit, afterId: Number(after_id ?? 0n) };
    const request = { target: call.path, acceptsGzip: call.acceptsGzip };
    return { status: 200, prepared: await answers.full(request, (model) => merchantParts(model, page)) };
  };
}

interface MerchantPage {
  merchants: readonly MerchantEntry[];
  total: number;
  nextAfterId: number | null;
}

/** Returns a page of merchants, oldest first. */
export function merchantPage(model: Model, page: { limit: number; afterId: number }): MerchantPage {
  const { merchants, merchantCount: total } = model;
  if (page.afterId !== 0 && merchants[page.afterId] === undefined)
    throw new Refusal('cursor_invalid', { detail: 'after_id does not name a merchant.' });
  const shown: MerchantEntry[] = [];
  let id = page.afterId + 1;
  for (; id < merchants.length && shown.length < page.limit; id += 1) {
    const merchant = merchants[id];
    if (merchant !== undefined) shown.push(merchant);
  }
  return { merchants: shown, total, nextAfterId: id < merchants.length ? (shown.at(-1)?.id ?? null) : null };
}

export function joinMerchants(merchants: readonly MerchantEntry[]): Buffer {
  const comma = Buffer.from(',');
  return Buffer.concat(
    merchants.flatMap((merchant, at) => (at > 0 ? [comma, merchantJson(merchant)] : [merchantJson(merchant)])),
  );
}

function merchantParts(model: Model, page: { limit: number; afterId: number }): PageParts {
  const { merchants, total, nextAfterId } = merchantPage(model, page);
  const rest = {
    total,
    returned: merchants.length,
    page_size: page.limit,
    has_more: nextAfterId !== null,
    next_after_id: nextAfterId,
  };
  return {
    prefix: Buffer.concat([Buffer.from('{"merchants":['), joinMerchants(merchants)]),
    ids: [],
    suffix: Buffer.from(`],${JSON.stringify(rest).slice(1)}`),
    outline: false,
  };
}
