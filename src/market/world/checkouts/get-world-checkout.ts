import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const getWorldCheckout: MarketOperation<Endpoints['getWorldCheckout']> = async () => {
  throw new TypeError('to be written');
};
