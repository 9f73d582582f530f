import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import type { CityOperation } from '../context.ts';
import { mustFindResident } from './must-find-resident.ts';
import { presentResident } from './present-resident.ts';
import { setMarketHandle } from './store.ts';

/** One side of a link, public as claimed. Whether the merchant names this resident too is looked at when something rests on it. */
export const linkMarket: CityOperation<CityEndpoints['linkMarket']> = async ({ database }, { body, caller }) => {
  const row = await database.transaction(async (tx) => {
    await setMarketHandle(tx, caller.id, body.market_handle);
    return mustFindResident(tx, caller.handle);
  });
  return { status: 200, body: { resident: presentResident(row) } };
};
