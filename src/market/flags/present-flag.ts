import type { z } from 'zod';
import type { flagOut } from '../../contract/flags.ts';
import { isoTime } from '../../platform/clock.ts';
import type { FlagRow } from './store.ts';

export function presentFlag(row: FlagRow): z.output<typeof flagOut> {
  return {
    id: Number(row.id),
    target_type: row.target_type,
    target_id: Number(row.target_id),
    handle: row.handle,
    reason: row.reason,
    created_at: isoTime(row.created_at),
  };
}
