import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const cancelWorldDraft: MarketOperation<Endpoints['cancelWorldDraft']> = async () => {
  throw new TypeError('to be written');
};
