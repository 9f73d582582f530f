import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';

export const setStoreLine: MarketOperation<Endpoints['setStoreLine']> = async () => {
  throw new Error('not written yet');
};
