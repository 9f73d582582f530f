import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const checkoutWorld: MarketOperation<Endpoints['checkoutWorld']> = async () => {
  throw new TypeError('to be written');
};
