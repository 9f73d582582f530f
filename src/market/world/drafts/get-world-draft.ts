import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';

export const getWorldDraft: MarketOperation<Endpoints['getWorldDraft']> = async () => {
  throw new TypeError('to be written');
};
