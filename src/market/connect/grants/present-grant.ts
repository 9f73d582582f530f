import type { z } from 'zod';
import type { grantOut } from '../../../contract/connections.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { GrantRow } from './store.ts';

const maybeTime = (at: Date | null): string | null => (at === null ? null : isoTime(at));

export function presentGrant(row: GrantRow): z.input<typeof grantOut> {
  return {
    ...row,
    granted_at: isoTime(row.granted_at),
    proven_at: maybeTime(row.proven_at),
    revoked_at: maybeTime(row.revoked_at),
  };
}
