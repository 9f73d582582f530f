import type { Queryable } from '../../../platform/database/database.ts';
import { encodeEvent } from './encode-event.ts';
import { readEventsAfter, type StreamRow } from './store.ts';
import type { StreamFilter } from './stream-filter.ts';

/** A client that is further behind reads pages of the database. */
const KEPT = 1_000;
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

export function createRecentEvents(kept = KEPT): RecentEvents {
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
