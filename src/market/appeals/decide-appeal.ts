import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';

export const decideAppeal: MarketOperation<Endpoints['decideAppeal']> = async () => {
  throw new Error('not written yet');
};
