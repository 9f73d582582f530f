import type { Endpoints } from '../contract/index.ts';
import { getWindow, type WindowQuery } from '../contract/merchants.ts';
import type { Cursors } from '../platform/cursor.ts';
import { type MemoryRead, readQueryAs } from './catalog/answers.ts';
import type { PageParts } from './catalog/fragments/page-bytes.ts';
import type { MarketCatalog } from './catalog/market-catalog.ts';
import type { Model } from './catalog/model/model.ts';
import { planShelf } from './catalog/shelf/plan-shelf.ts';
import { aislesOf, shelfPage } from './catalog/shelf/shelf-page.ts';
import type { MarketRead } from './context.ts';
import type { EventTail } from './events/read-events.ts';
import { joinMerchants, merchantPage } from './merchants/list-merchants.ts';

export function windowFromMemory({ answers, shelfCursors }: MarketCatalog, events: EventTail): MemoryRead {
  return ({ query, request }) => {
    const read = readQueryAs(getWindow.query, query);
    return read && answers.fromMemory(request, (model) => windowParts(model, shelfCursors, events, read));
  };
}

export function makeGetWindow(catalog: MarketCatalog, events: EventTail): MarketRead<Endpoints['getWindow']> {
  return async (_market, call) => ({
    status: 200,
    prepared: await catalog.answers.full({ target: call.path, acceptsGzip: call.acceptsGzip }, (model) =>
      windowParts(model, catalog.shelfCursors, events, call.query),
    ),
  });
}

/** Builds the answer from events, listings, merchants and aisles of the same moment. */
function windowParts(model: Model, cursors: Cursors, tail: EventTail, query: WindowQuery): PageParts {
  const { events_limit: eventsSize, listings_limit: listingsSize, merchants_limit: merchantsSize } = query;
  const plan = planShelf({ limit: listingsSize, ...(query.fields === undefined ? {} : { fields: query.fields }) });
  const events = tail.newest('window', eventsSize);
  const shelf = shelfPage(model, cursors, { plan, search: null, cursor: null });
  const merchants = merchantPage(model, { limit: merchantsSize, afterId: 0 });
  const { aisles } = aislesOf(model);
  const eventItems = events.events.map((event) => JSON.stringify(event)).join(',');
  const before = `{"events":{"items":[${eventItems}]${renderCounts({
    total: events.total,
    returned: events.events.length,
    size: eventsSize,
    more: moreUrl('/api/events?scope=window&before_id=', events.nextBeforeId),
  })},"listings":{"items":[`;
  const between = `]${renderCounts({
    total: shelf.total,
    returned: shelf.ids.length,
    size: listingsSize,
    more: moreUrl('/api/shelves?cursor=', shelf.nextCursor),
  })},"merchants":{"items":[`;
  const after = `]${renderCounts({
    total: merchants.total,
    returned: merchants.merchants.length,
    size: merchantsSize,
    more: moreUrl('/api/merchants?after_id=', merchants.nextAfterId),
  })},"aisles":{"items":${JSON.stringify(aisles)}${renderCounts({
    total: aisles.length,
    returned: aisles.length,
    size: aisles.length,
    more: null,
  })}}`;
  return {
    prefix: Buffer.from(before),
    ids: shelf.ids,
    suffix: Buffer.concat([Buffer.from(between), joinMerchants(merchants.merchants), Buffer.from(after)]),
    outline: plan.outline,
  };
}

function moreUrl(url: string, cursor: string | number | null): string | null {
  return cursor === null ? null : `${url}${cursor}`;
}

/** Renders the counts of a list. `more` is the URL of further rows, or null if there are none. */
function renderCounts(list: { total: number; returned: number; size: number; more: string | null }): string {
  const { total, returned, size, more } = list;
  const counts = { total, returned, page_size: size, has_more: more !== null, more_url: more };
  return `,${JSON.stringify(counts).slice(1)}`;
}
