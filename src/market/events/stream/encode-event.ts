import { toRecord } from '../read-event-page.ts';
import type { StreamRow } from './store.ts';

/** As server-sent events have it: the record is one line of JSON, as it stands on a page of the log. */
export function encodeEvent({ id, canonical }: Pick<StreamRow, 'id' | 'canonical'>): Buffer {
  const record = toRecord(id, canonical);
  return Buffer.from(`id: ${record.id}\nevent: ${record.kind}\ndata: ${JSON.stringify(record)}\n\n`);
}
