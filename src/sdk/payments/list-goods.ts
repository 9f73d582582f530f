import type { BodyGiven, ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { unitsOfUsdc } from '../../contract/money.ts';
import type { Network } from '../../contract/vocabulary.ts';
import { bodyDigest } from './body-digest.ts';
import { finishRun } from './finish-run.ts';
import { pursuePayment } from './pursue-payment.ts';
import type { PaymentOptions, Terms } from './pursuit.ts';
import { TermsRefused } from './terms-refused.ts';

export type ListedGoods = Extract<ResultOf<Endpoints['createListing']>, { status: 201 }>['body'];

export interface ListGoodsOptions extends PaymentOptions {
  /** The body of `POST /api/listing`. The same body, sent again, is the same listing. */
  listing: BodyGiven<Endpoints['createListing']>;
  /** The most that may be signed for. Default 1. */
  maxFeeUsdc?: number;
  /** Where the fee must go. Default: the treasury of the market's official facts. */
  treasury?: string;
  /** Default `base`. */
  network?: Network['name'];
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
    canCollect: false,
    readTerms: () => readTerms(options),
    send: async ({ payment }) => {
      const answer = await client.createListing({ body: listing, payment, signal });
      if (answer.status === 202) return { pending: answer.body };
      if ('listing_id' in answer.body) return { done: answer.body };
      throw new TypeError('a dry run was answered, though none was asked for');
    },
  });
  await finishRun(run);
  return done;
}

async function readTerms(options: ListGoodsOptions): Promise<Terms> {
  const network = options.network ?? 'base';
  const { body: facts } = await options.client.getOfficialFacts({ signal: options.signal });
  if (facts.network !== network) throw new TermsRefused('wrong_network', `the market is not on ${network}`);
  const amountUnits = unitsOfUsdc(facts.listing_fee_usdc);
  const maxUnits = unitsOfUsdc(options.maxFeeUsdc ?? 1);
  if (amountUnits === null || maxUnits === null) throw new TermsRefused('unreadable_terms', 'the fee cannot be read');
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', 'the fee is above maxFeeUsdc');
  const payee = (options.treasury ?? facts.treasury) as `0x${string}`;
  return { expected: { payee, amountUnits, network }, artifactCommitment: null };
}
