import { sha256, stringToBytes } from 'viem';
import type { BodyGiven, ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { unitsOfUsdc, usdcOfUnits } from '../../contract/money.ts';
import { own } from '../../contract/own-words.ts';
import { DEFAULT_NETWORK, LISTING_FEE_UNITS, type Network } from '../../contract/vocabulary.ts';
import type { Client } from '../client.ts';
import type { Upload } from '../goods/upload.ts';
import { TermsRefused } from './payment-errors.ts';
import { runPaymentFlow } from './payment-flow.ts';
import { finishRun, type PaymentOptions, payAnewOf, type Terms } from './payment-run.ts';

export type ListedGoods = Extract<ResultOf<Endpoints['createListing']>, { status: 201 }>['body'];

export interface ListGoodsOptions extends FeeOptions {
  /** Body of `POST /api/listing`. Sending the same body again gives the same listing. */
  listing: BodyGiven<Endpoints['createListing']>;
  /** Goods from `client.upload`, in place of `artifact`. The same bytes are the same listing, also after another upload of them. */
  upload?: Pick<Upload, 'id' | 'sha256'>;
}

/** Lists goods, pays the fee by x402 if one is due, and waits until the listing is live. Needs a client with a key. Retries like `buy`. */
export async function listGoods(options: ListGoodsOptions): Promise<ListedGoods> {
  const { client, upload, signal } = options;
  const listing = upload === undefined ? options.listing : { ...options.listing, artifact_upload: upload.id };
  const { done, run } = await runPaymentFlow<ListedGoods>({
    options,
    purpose: 'listing_fee',
    storeKey: `${client.baseUrl} list ${bodyDigest({ ...listing, ...(upload === undefined ? {} : { artifact_upload: upload.sha256 }) })}`,
    listingId: null,
    readTerms: () => readFeeTerms(options),
    send: async ({ payment, recoverySlip }) => {
      const body = { ...listing, ...payAnewOf(options) };
      const answer = await client.createListing({ body, payment, recoverySlip, signal });
      if (answer.status === 202) return { pending: answer.body };
      if ('listing_id' in answer.body) return { done: answer.body };
      throw new TypeError('the market treated the listing as a dry run');
    },
  });
  await finishRun(run);
  return done;
}

/** Options of calls that list goods or a city thing. */
export interface FeeOptions extends PaymentOptions {
  client: Client;
  /** Highest fee to sign for, in USDC. Default: `LISTING_FEE_UNITS`. */
  maxFeeUsdc?: number;
  /** Required payee of the fee. Default: the treasury in the market's official facts. */
  treasury?: string;
  /** Default: `DEFAULT_NETWORK`. */
  network?: Network['name'];
}

/** Reads the expected fee and its payee. */
export async function readFeeTerms(options: FeeOptions): Promise<Terms> {
  const network = options.network ?? DEFAULT_NETWORK.name;
  const { body: facts } = await options.client.getOfficialFacts({ signal: options.signal });
  if (facts.network !== network) throw new TermsRefused('wrong_network', own`the market isn’t on the expected network`);
  const amountUnits = unitsOfUsdc(facts.listing_fee_usdc);
  const maxUnits = unitsOfUsdc(options.maxFeeUsdc ?? usdcOfUnits(LISTING_FEE_UNITS));
  if (amountUnits === null || maxUnits === null) throw new TermsRefused('unreadable_terms', own`the fee can’t be read`);
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', own`the fee is above maxFeeUsdc`);
  const payee = (options.treasury ?? facts.treasury) as `0x${string}`;
  return { expected: { payee, amountUnits, network }, artifactCommitment: null };
}

/** Returns a digest that ignores the order of fields, as the market does when comparing bodies. */
export function bodyDigest(body: object): string {
  return sha256(stringToBytes(JSON.stringify(body, sortKeys)));
}

function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
