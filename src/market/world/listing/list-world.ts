import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';
import { answerListRequest } from '../../listings/answer-list-request.ts';
import { readFeePayment } from '../../listings/read-fee-payment.ts';
import type { Payments } from '../../payments/payments.ts';
import { thingToList } from './thing-to-list.ts';

/** POST /api/world/listing (W6, W12): a draft against its offer in the city, for the fee of any listing. */
export function makeListWorld(payments: Payments): MarketOperation<Endpoints['listWorld']> {
  return async (market, call) => {
    const { rawBody: _, ...paying } = readFeePayment(call);
    const { caller: merchant, body } = call;
    const asked = { merchant, bodyHash: paying.bodyHash, draftId: body.draft_id, offerId: body.city_offer_id };
    return await answerListRequest(market, payments, {
      merchant,
      ...paying,
      subject: thingToList(market, asked),
    });
  };
}
