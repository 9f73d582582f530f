import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const linkCity: MarketOperation<Endpoints['linkCity']> = async () => {
  throw new TypeError('to be written');
};
