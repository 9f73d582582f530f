import { z } from 'zod';
import { unitsOfUsdc, usdcText } from '../../contract/money.ts';
import {
  displayedHandle,
  type OfferOut,
  offerOut,
  type ResidentOut,
  residentOut,
} from '../../contract/world-records.ts';
import type { Hex } from '../../platform/hex.ts';
import { fetchRecord } from '../../platform/http/fetch-record.ts';
import { Refusal, type RefusalOptions } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';

const notFoundAnswer = z.object({ reason: z.literal('not_found') });
/** Accepts any address, because a wrong one is for the seller to correct and does not make the city's answer invalid. */
const anyAddress = z.string().max(2_000);
const offerIn = offerOut.extend({ offer_url: anyAddress, thing_url: anyAddress });
const residentIn = residentOut.extend({ market_handle: displayedHandle('another merchant') });

type CityContext = Pick<Market, 'config' | 'log'>;

type CityTrouble =
  // The city could not be reached, or did not answer in time, so the next request would probably get no answer either.
  | 'silent'
  // The answer is not a valid record.
  | 'unusable'
  // The record differs from what was listed.
  | 'differs';

/** A 503 `city_unavailable`, with the reason that the background job needs. */
export class CityUnavailable extends Refusal {
  readonly trouble: CityTrouble;

  constructor(trouble: CityTrouble, options: RefusalOptions) {
    super('city_unavailable', { retryAfterSeconds: 2, ...options });
    this.trouble = trouble;
  }

  /** Returns the same refusal for buyers who may have paid already. */
  afterPayment(): CityUnavailable {
    const nextStep = 'Do not pay again. Nothing was changed and nothing is lost: send the same request again.';
    return new CityUnavailable(this.trouble, { ...this.options, doNotPayAgain: true, nextStep });
  }
}

/** Returns the city's origin, or refuses if this market has no city. */
export function cityOrigin({ config }: Pick<Market, 'config'>): string {
  if (config.cityUrl === null) throw new Refusal('world_closed');
  return config.cityUrl;
}

/** Returns null if the city says that there is no such offer. Throws CityUnavailable if the city gives no valid answer. */
export async function readOffer(market: CityContext, offerId: bigint): Promise<OfferOut | null> {
  const record = await readRecord(market, `/api/world/offer/${offerId}`, z.object({ offer: offerIn }));
  if (record === null) return null;
  if (record.offer.id !== Number(offerId)) throw unusableAnswer(market, 'another offer than the one asked for');
  return record.offer;
}

/** Returns null if the city says that there is no such resident. Throws CityUnavailable if the city gives no valid answer. */
export async function readResident(market: CityContext, handle: string): Promise<ResidentOut | null> {
  const record = await readRecord(market, `/api/resident/${handle}`, z.object({ resident: residentIn }));
  if (record === null) return null;
  if (record.resident.handle !== handle) throw unusableAnswer(market, 'another resident than the one asked for');
  return record.resident;
}

function readRecord<Shape extends z.ZodType>(
  market: CityContext,
  path: string,
  shape: Shape,
): Promise<z.output<Shape> | null> {
  return fetchRecord(`${cityOrigin(market)}${path}`, {
    shape,
    isAbsent: ({ status, json }) => status === 404 && notFoundAnswer.safeParse(json).success,
    refuse: (why, isSilent) => cityUnavailable(market, isSilent ? 'silent' : 'unusable', why),
  });
}

/** Builds the refusal for a well-formed record that cannot be true. */
export function unusableAnswer(market: CityContext, why: string): CityUnavailable {
  return cityUnavailable(market, 'unusable', why);
}

/** Builds the refusal without any content from the city, which could be anything. */
function cityUnavailable({ log }: CityContext, trouble: CityTrouble, why: string): CityUnavailable {
  log.warn('city_unavailable', { why });
  return new CityUnavailable(trouble, { detail: `The city gave no answer that can be used: ${why}.` });
}

/** Values that an offer must have in its fields. None of them changes, except the listing's id. */
export interface ExpectedOffer {
  offerId: bigint;
  thingId: bigint;
  /** The resident's handle. */
  seller: string;
  sellerWallet: Hex;
  priceUnits: bigint;
  marketOrigin: string;
  chainId: bigint;
  draftId: bigint;
  /** Null before the offer is listed. The offer may still name no listing afterwards, because the city learns of the listing later. */
  listingId: bigint | null;
}

export interface OfferDifference {
  path: string;
  message: string;
}

/** Lists how an offer differs from the expected one. Pure. Names only expected values, because received ones may be anything. */
export function compareOffer(offer: OfferOut, expected: ExpectedOffer): OfferDifference[] {
  const { listingId } = expected;
  const named = offer.market_listing_id;
  const isListingRight = named === null || (listingId !== null && named === Number(listingId));
  const rules: [path: keyof OfferOut, isRight: boolean, wanted: bigint | string][] = [
    ['id', offer.id === Number(expected.offerId), expected.offerId],
    ['thing_id', offer.thing_id === Number(expected.thingId), expected.thingId],
    ['seller', offer.seller === expected.seller, expected.seller],
    ['seller_wallet', offer.seller_wallet.toLowerCase() === expected.sellerWallet, expected.sellerWallet],
    ['price_usdc', unitsOfUsdc(offer.price_usdc) === expected.priceUnits, usdcText(expected.priceUnits)],
    ['market_origin', offer.market_origin === expected.marketOrigin, expected.marketOrigin],
    ['chain_id', offer.chain_id === Number(expected.chainId), expected.chainId],
    ['market_draft_id', offer.market_draft_id === Number(expected.draftId), expected.draftId],
    ['market_listing_id', isListingRight, listingId === null ? 'null' : `${listingId} or null`],
  ];
  return rules.flatMap(([path, isRight, wanted]) => (isRight ? [] : [{ path, message: `must be ${wanted}` }]));
}
