import type { EventTail } from '../events/event-tail.ts';
import type { EventRecord } from '../events/read-event-page.ts';

const LINES = 5;

export interface Activity {
  /** The newest events of the door scope, one line each. */
  lines: string[];
  showing: string;
  events: EventRecord[];
}

export function readActivity(tail: EventTail): Activity {
  const { events, total } = tail.newest('door', LINES);
  return { lines: events.map(toLine), showing: `showing ${events.length} of ${total}`, events };
}

function toLine({ at, kind, actor, detail }: EventRecord): string {
  const listing = detail['listing_id'];
  const where = typeof listing === 'number' ? `, [listing ${listing}](/api/listing/${listing})` : '';
  return `${at} \`${kind}\` by ${actor}${where}`;
}
