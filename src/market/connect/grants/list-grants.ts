import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';
import { presentGrant } from './present-grant.ts';
import { readGrants } from './store.ts';

const MOST = 100;

export const listGrants: MarketOperation<Endpoints['listGrants']> = async ({ database }, { caller }) => {
  const rows = await readGrants(database, caller.id, MOST);
  return { status: 200, body: { grants: rows.map(presentGrant) } };
};
