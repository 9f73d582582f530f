import type { z } from 'zod';
import type { Endpoints } from '../../contract/index.ts';
import { eventOut } from '../../contract/merchants.ts';
import { PAGE_SIZES, type Scope } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { type EventFilter, type NewestEventRow, readNewestEvents, readSlice } from './store.ts';

const KEPT_EVENTS = PAGE_SIZES.window_events;

/** Keeps the end of the public log in memory, because its pages are read much more often than events happen. */
export interface EventTail {
  /** Reads all news in one query. Resolves with a function that applies the news, or with null if nothing is new. */
  read(queryable: Queryable): Promise<(() => void) | null>;
  newest(scope: Scope, limit: number): EventPage;
  /** Rises with every event. */
  version(): number;
}

interface View {
  total: number;
  /** Newest first. */
  events: EventRecord[];
}

export function createEventTail(): EventTail {
  const emptyView: View = { total: 0, events: [] };
  let views: Record<Scope, View> = { door: emptyView, window: emptyView };
  let newestId = 0n;

  return {
    read: async (queryable) => {
      const { newestId: upTo, news } = await readNewestEvents(queryable, newestId, KEPT_EVENTS);
      if (upTo === newestId) return null;
      // A log that became shorter is a different log. `readNewestEvents` then read it from the beginning, so drop the earlier events.
      const earlier = upTo < newestId ? { door: emptyView, window: emptyView } : views;
      return () => {
        const doorNews = news.filter(({ in_door: inDoor }) => inDoor);
        views = {
          window: addNews(earlier.window, news, news[0]?.nth_of_window),
          door: addNews(earlier.door, doorNews, doorNews[0]?.nth_of_door),
        };
        newestId = upTo;
      };
    },
    newest: (scope, limit) => {
      const { total, events } = views[scope];
      const shown = events.slice(0, limit);
      const hasMore = total > shown.length;
      return { events: shown, total, hasMore, nextBeforeId: hasMore ? (shown.at(-1)?.id ?? null) : null };
    },
    version: () => Number(newestId),
  };
}

/** Puts newer rows before the view's events; both are newest first. */
function addNews(view: View, rows: readonly NewestEventRow[], total: bigint | undefined): View {
  if (total === undefined) return view;
  const events = rows.slice(0, KEPT_EVENTS).map(({ id, canonical }) => toRecord(id, canonical));
  return { total: Number(total), events: [...events, ...view.events].slice(0, KEPT_EVENTS) };
}

export type EventRecord = z.output<typeof eventOut>;

export interface EventPage {
  events: EventRecord[];
  /** Total of the whole filter, on every page. */
  total: number;
  hasMore: boolean;
  nextBeforeId: number | null;
}

const contentSchema = eventOut.omit({ id: true });

/** Reads the newest events of the filter below the cursor. A transaction reads from its own snapshot. */
export async function readEventPage(
  database: Queryable,
  filter: EventFilter,
  page: { limit: number; beforeId: bigint | null },
): Promise<EventPage> {
  const { total, cursorKnown, rows } = await readSlice(database, filter, page);
  if (!cursorKnown) throw new Refusal('cursor_invalid', { detail: 'before_id does not name an event of this filter.' });
  const last = rows.at(-1);
  // `nth` of the last row is 1 only if the filter selects no older row.
  const hasMore = last !== undefined && last.nth > 1n;
  return {
    events: rows.map(({ id, canonical }) => toRecord(id, canonical)),
    total: Number(total),
    hasMore,
    nextBeforeId: hasMore ? Number(last.id) : null,
  };
}

export function toRecord(id: bigint, canonical: Buffer): EventRecord {
  const { at, kind, actor, detail } = contentSchema.parse(JSON.parse(canonical.toString('utf8')));
  return { id: Number(id), at, kind, actor, detail };
}

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
