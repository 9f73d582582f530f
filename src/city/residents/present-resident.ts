import type { ResidentOut } from '../../contract/world-records.ts';
import { isoTime } from '../../platform/clock.ts';
import type { ResidentRow } from './store.ts';

export function presentResident(row: ResidentRow): ResidentOut {
  return {
    handle: row.handle,
    market_handle: row.market_handle,
    joined_at: isoTime(row.joined_at),
    things: row.things.map(Number),
    things_total: Number(row.things_total),
  };
}
