import { PAGE_SIZES, type Scope } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type EventPage, type EventRecord, readEventPage, toRecord } from './read-event-page.ts';
import { type NewsRow, readNewestEventId, readNews } from './store.ts';

/** As many as a page shows at once. */
const KEPT = PAGE_SIZES.window_events;
/** More news than that are read as a whole page again. */
const AT_ONCE = 500;

/** The end of the public log in memory, for pages that are asked for much more often than something happens. */
export interface EventTail {
  /** Reads what is new; the function that comes back takes it in. Null: nothing is new. */
  read(tx: Tx): Promise<(() => void) | null>;
  /** The same by one statement. 'much': more than can be added. */
  glance(queryable: Queryable): Promise<(() => void) | 'much' | null>;
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

  const take = (fresh: Record<Scope, View>, upTo: bigint) => () => {
    views = fresh;
    newestId = upTo;
  };
  const glance: EventTail['glance'] = async (queryable) => {
    const { newestId: upTo, news } = await readNews(queryable, newestId, AT_ONCE);
    if (upTo === newestId) return null;
    // No more than that many came into the window.
    // A log that is shorter than it was is another one.
    return newestId === 0n || upTo < newestId || upTo - newestId > AT_ONCE ? 'much' : take(addNews(views, news), upTo);
  };

  return {
    read: async (tx) => {
      const apply = await glance(tx);
      if (apply !== 'much') return apply;
      return take(await readViews(tx), await readNewestEventId(tx));
    },
    glance,
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

function addNews(views: Record<Scope, View>, news: readonly NewsRow[]): Record<Scope, View> {
  // Everything at the door is in the window too.
  const add = (view: View, rows: typeof news, total: bigint): View => ({
    total: Number(total),
    events: [...rows.map(({ id, canonical }) => toRecord(id, canonical)).reverse(), ...view.events].slice(0, KEPT),
  });
  const last = news.at(-1);
  if (last === undefined) return views;
  return {
    window: add(views.window, news, last.nth_of_window),
    door: add(
      views.door,
      news.filter(({ in_door: inDoor }) => inDoor),
      last.nth_of_door,
    ),
  };
}
