import type { z } from 'zod';
import type { grantOut } from '../../contract/connections.ts';
import type { Endpoints } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { type GrantRow, readGrants, revokeGrantOf } from './store.ts';

const MAX_GRANTS = 100;

export const listGrants: MarketOperation<Endpoints['listGrants']> = async ({ database }, { caller }) => {
  const rows = await readGrants(database, caller.id, MAX_GRANTS);
  return { status: 200, body: { grants: rows.map(presentGrant) } };
};

const maybeTime = (at: Date | null): string | null => (at === null ? null : isoTime(at));

function presentGrant(row: GrantRow): z.input<typeof grantOut> {
  return {
    ...row,
    granted_at: isoTime(row.granted_at),
    proven_at: maybeTime(row.proven_at),
    revoked_at: maybeTime(row.revoked_at),
  };
}

/** Revokes a grant. Its tokens fail in every process from the commit on, because each use reads the row. */
export const revokeGrant: MarketOperation<Endpoints['revokeGrant']> = async (market, { caller, params }) => {
  const { clock, database } = market;
  const grant = await revokeGrantOf(database, { id: params.id, merchantId: caller.id, at: new Date(clock.now()) });
  if (grant === null) throw new Refusal('not_found');
  return { status: 200, body: { grant: presentGrant(grant) } };
};
