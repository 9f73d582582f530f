import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queryable } from '../../../platform/database/database.ts';
import type { Log } from '../../../platform/log.ts';
import { toRecord } from '../read-events.ts';
import { readEventsAfter, type StreamedFilter, type StreamRow } from '../store.ts';

/** Limit for all clients together, so that clients that catch up leave the database free for buyers. */
const PAGES_AT_ONCE = 2;
const PAGE = 100;
const RETRY_MS = 1_000;

interface BehindClient {
  cursor: number;
  filter: StreamFilter;
}

interface BacklogOptions<Client extends BehindClient> {
  database: Database;
  clock: Clock;
  log: Log;
  stopped: AbortSignal;
  page?: number;
  head(): number;
  isGone(client: Client): boolean;
  /** Called after the cursor moved. `bytes` is null if no event up to there matches the client's filter. */
  take(client: Client, bytes: Buffer | null): void;
}

/** Reads pages for clients whose cursor is no longer in memory: one page at a time per client, in turn, and a few in total. */
export function createBacklog<Client extends BehindClient>(options: BacklogOptions<Client>): (client: Client) => void {
  const { database, clock, log, stopped, isGone, take, page = PAGE } = options;
  const waiting: Client[] = [];
  let reading = 0;
  let failing = false;

  const readPage = async (client: Client): Promise<void> => {
    const upToId = options.head();
    try {
      const { cursor, filter } = client;
      const rows = await readEventsAfter(database, filter.of, { afterId: cursor, upToId, limit: page });
      const last = rows.length < page ? undefined : rows.at(-1);
      client.cursor = last === undefined ? upToId : Number(last.id);
      failing = false;
      if (!isGone(client)) take(client, rows.length === 0 ? null : Buffer.concat(rows.map(encodeEvent)));
    } catch (error) {
      // Log once per outage.
      if (!failing) log.error('event_backlog_read_failed', { error });
      failing = true;
      waiting.push(client);
      await clock.sleep(RETRY_MS, stopped);
    }
  };
  const next = (): void => {
    while (reading < PAGES_AT_ONCE && !stopped.aborted) {
      const client = waiting.shift();
      if (client === undefined) return;
      if (isGone(client)) continue;
      reading += 1;
      void readPage(client).finally(() => {
        reading -= 1;
        next();
      });
    }
  };
  return (client) => {
    waiting.push(client);
    next();
  };
}

/** Clients further behind read pages from the database. */
const EVENTS_KEPT = 1_000;
/** Bytes of events that a client gets at once, about as many as a connection accepts without waiting. */
const PORTION_BYTES = 65_536;
/** Few are enough, because nearly all clients need one of a few portions. Only reconnecting clients need others. */
const PORTIONS_KEPT = 32;

export interface Portion {
  /** Null if no event in it matches the filter. */
  bytes: Buffer | null;
  upTo: number;
}

/** The newest events as sent, encoded once for all clients. Restarts after a gap in the ids, because an id determines its index. */
export interface RecentEvents {
  /** Id of the event before the first in memory. All events after it, up to `last`, are in memory. */
  base(): number;
  last(): number;
  /** Drops all events and continues after `upTo`, for example when no client listens. */
  forget(upTo: number): void;
  readTo(queryable: Queryable, upTo: number): Promise<void>;
  /** Returns the next portion of events after `cursor`, which must not be before `base`. Equal requests share the same bytes. */
  after(cursor: number, filter: StreamFilter): Portion;
}

interface RecentEvent extends Pick<StreamRow, 'kind' | 'in_door' | 'in_window'> {
  bytes: Buffer;
}

export function createRecentEvents(most = EVENTS_KEPT): RecentEvents {
  let base = 0;
  let events: RecentEvent[] = [];
  const portions = new Map<string, Portion>();
  const last = (): number => base + events.length;

  const forget = (upTo: number): void => {
    base = upTo;
    events = [];
    portions.clear();
  };
  const build = (cursor: number, { takes }: StreamFilter): Portion => {
    const pieces: Buffer[] = [];
    let size = 0;
    let at = cursor - base;
    for (; at < events.length && size < PORTION_BYTES; at += 1) {
      const event = events[at];
      if (event === undefined || !takes(event)) continue;
      pieces.push(event.bytes);
      size += event.bytes.length;
    }
    return { bytes: pieces.length === 0 ? null : Buffer.concat(pieces), upTo: base + at };
  };
  return {
    base: () => base,
    last,
    forget,
    readTo: async (queryable, upTo) => {
      if (upTo <= last()) return;
      if (upTo - last() > most) forget(upTo - most);
      const rows = await readEventsAfter(queryable, null, { afterId: last(), upToId: upTo, limit: most });
      for (const row of rows) {
        // Ids have a gap after a recovery.
        if (Number(row.id) !== last() + 1) forget(Number(row.id) - 1);
        events.push({ ...row, bytes: encodeEvent(row) });
      }
      const excess = Math.max(0, events.length - most);
      events.splice(0, excess);
      base += excess;
      portions.clear();
    },
    after: (cursor, filter) => {
      const key = `${cursor} ${filter.key}`;
      const existing = portions.get(key);
      if (existing !== undefined) return existing;
      if (portions.size >= PORTIONS_KEPT) portions.clear();
      const portion = build(cursor, filter);
      portions.set(key, portion);
      return portion;
    },
  };
}

/** Encodes an event for the stream: the same record as in a page of the log, as one line of JSON. */
function encodeEvent({ id, canonical }: Pick<StreamRow, 'id' | 'canonical'>): Buffer {
  const record = toRecord(id, canonical);
  return Buffer.from(`id: ${record.id}\nevent: ${record.kind}\ndata: ${JSON.stringify(record)}\n\n`);
}

/** Shared by all requests for the same part of the log. */
export interface StreamFilter {
  key: string;
  of: StreamedFilter;
  takes(event: Pick<StreamRow, 'kind' | 'in_door' | 'in_window'>): boolean;
}

const knownFilters = new Map<string, StreamFilter>();

/** Caches without limit, because kinds and scopes are few. */
export function streamFilter(of: StreamedFilter): StreamFilter {
  const key = of === null ? 'all' : 'kind' in of ? `kind ${of.kind}` : `scope ${of.scope}`;
  const filter = knownFilters.get(key) ?? { key, of, takes: testOf(of) };
  knownFilters.set(key, filter);
  return filter;
}

function testOf(of: StreamedFilter): StreamFilter['takes'] {
  if (of === null) return () => true;
  if ('kind' in of) return ({ kind }) => kind === of.kind;
  return of.scope === 'door' ? ({ in_door: inDoor }) => inDoor : ({ in_window: inWindow }) => inWindow;
}
