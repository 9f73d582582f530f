import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queryable } from '../../../platform/database/database.ts';
import type { Log } from '../../../platform/log.ts';
import { toRecord } from '../read-events.ts';
import { readEventsAfter, type StreamedFilter, type StreamRow } from '../store.ts';

/** For all clients together: clients that catch up leave the database to buyers. */
const PAGES_AT_ONCE = 2;
const PAGE = 100;
const RETRY_MS = 1_000;

/** Who is behind, and how far. */
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
  /** How far the log goes. */
  head(): number;
  isGone(client: Client): boolean;
  /** The cursor has moved; null: nothing up to there is for this client. */
  take(client: Client, bytes: Buffer | null): void;
}

/** Pages for those whose place is not in memory any more: one at a time for each, in turn, a few at a time for all. */
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
      // One line for a whole outage.
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

/** A client that is further behind reads pages of the database. */
const EVENTS_KEPT = 1_000;
/** What is handed to a client at once: about what a connection takes without waiting. */
const PORTION_BYTES = 65_536;
/** Nearly all ask for one of a few; those who come back are each somewhere else. */
const PORTIONS_KEPT = 32;

export interface Portion {
  /** Null: nothing in it is for this filter. */
  bytes: Buffer | null;
  /** The event with which it ends. */
  upTo: number;
}

/** The newest events as they go out, encoded once for all clients. After a gap in the ids it starts again, so an id is a place. */
export interface RecentEvents {
  /** Everything after this event is here, up to `last`. */
  base(): number;
  last(): number;
  /** Drops everything: no client listens. */
  forget(upTo: number): void;
  /** Reads on, up to that event. */
  readTo(queryable: Queryable, upTo: number): Promise<void>;
  /** What comes after an event that is not before `base`. Many ask for the same, and get the same bytes. */
  after(cursor: number, filter: StreamFilter): Portion;
}

interface Recent extends Pick<StreamRow, 'kind' | 'in_door' | 'in_window'> {
  bytes: Buffer;
}

export function createRecentEvents(kept = EVENTS_KEPT): RecentEvents {
  let base = 0;
  let events: Recent[] = [];
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
      if (upTo - last() > kept) forget(upTo - kept);
      const rows = await readEventsAfter(queryable, null, { afterId: last(), upToId: upTo, limit: kept });
      for (const row of rows) {
        // A recovery has left ids out.
        if (Number(row.id) !== last() + 1) forget(Number(row.id) - 1);
        events.push({ ...row, bytes: encodeEvent(row) });
      }
      const over = Math.max(0, events.length - kept);
      events.splice(0, over);
      base += over;
      portions.clear();
    },
    after: (cursor, filter) => {
      const key = `${cursor} ${filter.key}`;
      const known = portions.get(key);
      if (known !== undefined) return known;
      if (portions.size >= PORTIONS_KEPT) portions.clear();
      const portion = build(cursor, filter);
      portions.set(key, portion);
      return portion;
    },
  };
}

/** As server-sent events have it: the record is one line of JSON, as it stands on a page of the log. */
function encodeEvent({ id, canonical }: Pick<StreamRow, 'id' | 'canonical'>): Buffer {
  const record = toRecord(id, canonical);
  return Buffer.from(`id: ${record.id}\nevent: ${record.kind}\ndata: ${JSON.stringify(record)}\n\n`);
}

/** One object for all who ask for the same part of the log. */
export interface StreamFilter {
  key: string;
  of: StreamedFilter;
  takes(event: Pick<StreamRow, 'kind' | 'in_door' | 'in_window'>): boolean;
}

const knownFilters = new Map<string, StreamFilter>();

/** Kinds and scopes are few, so none is ever forgotten. */
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
