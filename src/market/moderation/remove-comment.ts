import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';

export const removeComment: MarketOperation<Endpoints['removeComment']> = async () => {
  throw new Error('not written yet');
};
