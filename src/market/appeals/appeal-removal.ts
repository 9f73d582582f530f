import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';

export const appealRemoval: MarketOperation<Endpoints['appealRemoval']> = async () => {
  throw new Error('not written yet');
};
