import { PAGE_SIZES, type Scope } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type EventPage, type EventRecord, readEventPage, toRecord } from './read-event-page.ts';
import { newestEventId, readNewestEventId, readWindowBetween } from './store.ts';

/** As many as a page shows at once. */
const KEPT = PAGE_SIZES.window_events;
/** More news than that are read as a whole page again. */
const AT_ONCE = 500;

/** The end of the public log in memory, for pages that are asked for much more often than something happens. */
export interface EventTail {
  /** Reads what is new; the function that comes back takes it in. Null: nothing is new. */
  read(tx: Tx): Promise<(() => void) | null>;
  /** A scalar query for how far the log goes. */
  mark: typeof newestEventId;
  /**
   * What is new up to that event, as it was when that one was the newest: numbers are given without a gap and rows never change.
   * 'much': more than can be added.
   */
  readTo(queryable: Queryable, mark: bigint): Promise<(() => void) | 'much' | null>;
  /** The newest events of that view, as a page of the log would hold them. */
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
  let views: Record<Scope, View> = { door: { total: 0, events: [] }, window: { total: 0, events: [] } };
  let newestId = 0n;

  const isMuch = (upTo: bigint): boolean => newestId === 0n || upTo - newestId > AT_ONCE;
  const take = (fresh: Record<Scope, View>, upTo: bigint) => () => {
    views = fresh;
    newestId = upTo;
  };

  return {
    read: async (tx) => {
      const id = await readNewestEventId(tx);
      if (id === newestId) return null;
      return take(isMuch(id) ? await readViews(tx) : await addNews(tx, views, newestId, id), id);
    },
    mark: newestEventId,
    readTo: async (queryable, mark) => {
      if (mark === newestId) return null;
      return isMuch(mark) ? 'much' : take(await addNews(queryable, views, newestId, mark), mark);
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

async function readViews(tx: Tx): Promise<Record<Scope, View>> {
  const page = { limit: KEPT, beforeId: null };
  const door = await readEventPage(tx, { scope: 'door' }, page);
  const window = await readEventPage(tx, { scope: 'window' }, page);
  return { door, window };
}

async function addNews(
  queryable: Queryable,
  views: Record<Scope, View>,
  afterId: bigint,
  upToId: bigint,
): Promise<Record<Scope, View>> {
  // Everything at the door is in the window too.
  const news = await readWindowBetween(queryable, afterId, upToId);
  const add = (view: View, rows: typeof news, total: bigint): View => ({
    total: Number(total),
    events: [...rows.map(({ id, canonical }) => toRecord(id, canonical)).reverse(), ...view.events].slice(0, KEPT),
  });
  const atDoor = news.filter(({ in_door: inDoor }) => inDoor);
  const last = news.at(-1);
  if (last === undefined) return views;
  return {
    window: add(views.window, news, last.nth_of_window),
    door: add(views.door, atDoor, last.nth_of_door),
  };
}
