import type { ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { type FeeOptions, readFeeTerms } from '../payments/list-goods.ts';
import { runPaymentFlow } from '../payments/payment-flow.ts';
import { finishRun, payAnewOf } from '../payments/payment-run.ts';

export type ListedThing = Extract<ResultOf<Endpoints['listWorld']>, { status: 201 }>['body'];

export interface ListThingOptions extends FeeOptions {
  draftId: number;
  cityOfferId: number;
}

/**
 * Lists a draft with its offer in the city, pays the fee by x402 if one is due, and waits until the listing is live. Needs a client with a
 * key. Refuses, retries and waits like `buy`.
 */
export async function listThing(options: ListThingOptions): Promise<ListedThing> {
  const { client, draftId, cityOfferId, signal } = options;
  const { done, run } = await runPaymentFlow<ListedThing>({
    options,
    purpose: 'listing_fee',
    storeKey: `${client.baseUrl} list draft ${draftId} at offer ${cityOfferId}`,
    listingId: null,
    readTerms: () => readFeeTerms(options),
    send: async ({ payment, recoverySlip }) => {
      const body = { draft_id: draftId, city_offer_id: cityOfferId, ...payAnewOf(options) };
      const answer = await client.listWorld({ body, payment, recoverySlip, signal });
      return answer.status === 202 ? { pending: answer.body } : { done: answer.body };
    },
  });
  await finishRun(run);
  return done;
}
