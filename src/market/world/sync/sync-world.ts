import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';
import type { Payments } from '../../payments/payments.ts';

export function makeSyncWorld(_payments: Payments): MarketOperation<Endpoints['syncWorld']> {
  return async () => {
    throw new TypeError('to be written');
  };
}
