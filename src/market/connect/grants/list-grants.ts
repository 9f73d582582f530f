import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const listGrants: MarketOperation<Endpoints['listGrants']> = async () => {
  throw new Error('not built');
};
