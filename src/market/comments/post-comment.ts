import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';

export const postComment: MarketOperation<Endpoints['postComment']> = async () => {
  throw new Error('not written yet');
};
