import type { BodyGiven, ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { bodyDigest } from './body-digest.ts';
import { type FeeOptions, readFeeTerms } from './fee-terms.ts';
import { finishRun } from './finish-run.ts';
import { pursuePayment } from './pursue-payment.ts';
import { payAnewOf } from './pursuit.ts';

export type ListedGoods = Extract<ResultOf<Endpoints['createListing']>, { status: 201 }>['body'];

export interface ListGoodsOptions extends FeeOptions {
  /** The body of `POST /api/listing`. The same body, sent again, is the same listing. */
  listing: BodyGiven<Endpoints['createListing']>;
}

/**
 * Lists goods, pays the fee by x402 if one is due, and waits until the listing is live. Needs a client with a key. Refuses, retries
 * and waits as `buy` does.
 */
export async function listGoods(options: ListGoodsOptions): Promise<ListedGoods> {
  const { client, listing, signal } = options;
  const { done, run } = await pursuePayment<ListedGoods>({
    options,
    purpose: 'listing_fee',
    storeKey: `${client.baseUrl} list ${bodyDigest(listing)}`,
    listingId: null,
    readTerms: () => readFeeTerms(options),
    send: async ({ payment, recoverySlip }) => {
      const body = { ...listing, ...payAnewOf(options) };
      const answer = await client.createListing({ body, payment, recoverySlip, signal });
      if (answer.status === 202) return { pending: answer.body };
      if ('listing_id' in answer.body) return { done: answer.body };
      throw new TypeError('a dry run was answered, though none was asked for');
    },
  });
  await finishRun(run);
  return done;
}
