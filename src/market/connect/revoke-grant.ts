import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { presentGrant } from './list-grants.ts';
import { revokeGrantOf } from './store.ts';

/** From its commit on no token of that grant is anything, on every process: each use asks for the row. */
export const revokeGrant: MarketOperation<Endpoints['revokeGrant']> = async (market, { caller, params }) => {
  const { clock, database } = market;
  const ended = await revokeGrantOf(database, { id: params.id, merchantId: caller.id, at: new Date(clock.now()) });
  if (ended === null) throw new Refusal('not_found');
  return { status: 200, body: { grant: presentGrant(ended) } };
};
