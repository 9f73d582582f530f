import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';

export const raiseFlag: MarketOperation<Endpoints['raiseFlag']> = async () => {
  throw new Error('not written yet');
};
