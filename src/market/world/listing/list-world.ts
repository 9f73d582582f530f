import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';
import type { Payments } from '../../payments/payments.ts';

export function makeListWorld(_payments: Payments): MarketOperation<Endpoints['listWorld']> {
  return async () => {
    throw new TypeError('to be written');
  };
}
