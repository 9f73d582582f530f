import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { readEventPage } from './read-events.ts';
import type { EventFilter } from './store.ts';

export const listEvents: MarketOperation<Endpoints['listEvents']> = async (market, call) => {
  const { limit, before_id } = call.query;
  const page = await readEventPage(market.database, toFilter(call.query), { limit, beforeId: before_id ?? null });
  return {
    status: 200,
    body: {
      events: page.events,
      total: page.total,
      returned: page.events.length,
      page_size: limit,
      has_more: page.hasMore,
      next_before_id: page.nextBeforeId,
    },
  };
};

type Query = Parameters<typeof listEvents>[1]['query'];

function toFilter({ kind, scope, listing_id: listingId }: Query): EventFilter {
  if (listingId !== undefined) return { listingId };
  if (kind !== undefined) return { kind };
  if (scope !== undefined) return { scope };
  return null;
}
