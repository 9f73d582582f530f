import type { z } from 'zod';
import type { grantOut } from '../../contract/connections.ts';
import type { Endpoints } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { MarketOperation } from '../context.ts';
import { type GrantRow, readGrants } from './store.ts';

const MOST = 100;

export const listGrants: MarketOperation<Endpoints['listGrants']> = async ({ database }, { caller }) => {
  const rows = await readGrants(database, caller.id, MOST);
  return { status: 200, body: { grants: rows.map(presentGrant) } };
};

const maybeTime = (at: Date | null): string | null => (at === null ? null : isoTime(at));

export function presentGrant(row: GrantRow): z.input<typeof grantOut> {
  return {
    ...row,
    granted_at: isoTime(row.granted_at),
    proven_at: maybeTime(row.proven_at),
    revoked_at: maybeTime(row.revoked_at),
  };
}
