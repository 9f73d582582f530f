import type { Queryable } from '../../platform/database/database.ts';
import { type EventRecord, readEventPage } from '../events/read-event-page.ts';

const LINES = 5;

export interface Activity {
  /** The newest events of the door scope, one line each. */
  lines: string[];
  showing: string;
  events: EventRecord[];
}

export async function readActivity(database: Queryable): Promise<Activity> {
  const { events, total } = await readEventPage(database, { scope: 'door' }, { limit: LINES, beforeId: null });
  return { lines: events.map(toLine), showing: `showing ${events.length} of ${total}`, events };
}

function toLine({ at, kind, actor, detail }: EventRecord): string {
  const listing = detail['listing_id'];
  const where = typeof listing === 'number' ? `, [listing ${listing}](/api/listing/${listing})` : '';
  return `${at} \`${kind}\` by ${actor}${where}`;
}
