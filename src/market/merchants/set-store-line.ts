import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { presentMerchant } from './present-merchant.ts';
import { readMerchant, writeStoreLine } from './store.ts';

/** POST /api/store. Records no event, because a store line is not an act of trade. */
export const setStoreLine: MarketOperation<Endpoints['setStoreLine']> = async ({ database }, call) => {
  const { id } = call.caller;
  await writeStoreLine(database, id, call.body.line);
  const merchant = await readMerchant(database, id);
  if (merchant === null) throw new TypeError(`merchant ${id} has a key and no row`);
  return { status: 200, body: { merchant: presentMerchant(merchant) } };
};
