import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const revokeGrant: MarketOperation<Endpoints['revokeGrant']> = async () => {
  throw new Error('not built');
};
