import type { z } from 'zod';
import { eventOut } from '../../contract/merchants.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { type EventFilter, readSlice } from './store.ts';

export type EventRecord = z.output<typeof eventOut>;

export interface EventPage {
  events: EventRecord[];
  /** Of the whole filter, on every page. */
  total: number;
  hasMore: boolean;
  nextBeforeId: number | null;
}

const content = eventOut.omit({ id: true });

/** The newest events of the filter below the cursor. Given an open transaction, they are of its snapshot. */
export async function readEventPage(
  database: Queryable,
  filter: EventFilter,
  page: { limit: number; beforeId: bigint | null },
): Promise<EventPage> {
  const { total, cursorKnown, rows } = await readSlice(database, filter, page);
  if (!cursorKnown) throw new Refusal('cursor_invalid', { detail: 'before_id does not name an event of this filter.' });
  const last = rows.at(-1);
  // The running count of the last row is how many rows there are down from it, itself included.
  const hasMore = last !== undefined && last.nth > 1n;
  return {
    events: rows.map(({ id, canonical }) => toRecord(id, canonical)),
    total: Number(total),
    hasMore,
    nextBeforeId: hasMore ? Number(last.id) : null,
  };
}

export function toRecord(id: bigint, canonical: Buffer): EventRecord {
  const { at, kind, actor, detail } = content.parse(JSON.parse(canonical.toString('utf8')));
  return { id: Number(id), at, kind, actor, detail };
}
