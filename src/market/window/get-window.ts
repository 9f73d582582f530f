import type { Endpoints } from '../../contract/index.ts';
import { PAGE_SIZES } from '../../contract/vocabulary.ts';
import { readShelfPage, shelfCursors } from '../catalog/read-shelf-page.ts';
import type { MarketOperation } from '../context.ts';
import { readEventPage } from '../events/read-event-page.ts';
import { inSnapshot } from '../in-snapshot.ts';
import { readMerchantPage } from '../merchants/read-merchant-page.ts';

export const getWindow: MarketOperation<Endpoints['getWindow']> = (market) =>
  inSnapshot(market.database, async (snapshot) => {
    const { window_events: eventsSize, window_listings: listingsSize, window_merchants: merchantsSize } = PAGE_SIZES;
    const events = await readEventPage(snapshot, { scope: 'window' }, { limit: eventsSize, beforeId: null });
    const shelves = await readShelfPage(snapshot, shelfCursors(market), {
      aisle: undefined,
      sort: 'new',
      limit: listingsSize,
      cursor: undefined,
    });
    const merchants = await readMerchantPage(snapshot, { limit: merchantsSize, afterId: null });
    const more = (url: string, cursor: string | number | null): string | null =>
      cursor === null ? null : `${url}${cursor}`;
    return {
      status: 200,
      body: {
        events: section(
          events.events,
          { total: events.total, page_size: eventsSize },
          more('/api/events?scope=window&before_id=', events.nextBeforeId),
        ),
        listings: section(shelves.listings, shelves, more('/api/shelves?cursor=', shelves.next_cursor)),
        merchants: section(merchants.merchants, merchants, more('/api/merchants?after_id=', merchants.next_after_id)),
        aisles: section(shelves.aisles, { total: shelves.aisles.length, page_size: shelves.aisles.length }, null),
      },
    };
  });

/** There is more exactly where there is an address for it. */
function section<Item>(items: Item[], counts: { total: number; page_size: number }, moreUrl: string | null) {
  return {
    items,
    total: counts.total,
    returned: items.length,
    page_size: counts.page_size,
    has_more: moreUrl !== null,
    more_url: moreUrl,
  };
}
