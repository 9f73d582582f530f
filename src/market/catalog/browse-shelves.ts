import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { readShelfPage, shelfCursors } from './read-shelf-page.ts';

export const browseShelves: MarketOperation<Endpoints['browseShelves']> = async (market, call) => {
  const { aisle, sort, limit, cursor } = call.query;
  return {
    status: 200,
    body: await readShelfPage(market.database, shelfCursors(market), { aisle, sort, limit, cursor }),
  };
};
