import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const draftWorld: MarketOperation<Endpoints['draftWorld']> = async () => {
  throw new TypeError('to be written');
};
