import { z } from 'zod';
import { unitsOfUsdc, usdcText } from '../../contract/money.ts';
import { SITE_ANSWER_LIMIT_BYTES, SITE_DEADLINE_SECONDS } from '../../contract/vocabulary.ts';
import { handleNamed, type OfferOut, offerOut, type ResidentOut, residentOut } from '../../contract/world-records.ts';
import type { Hex } from '../../platform/hex.ts';
import { askJson, OutboundFailure } from '../../platform/http/outbound-requests.ts';
import { Refusal, type RefusalOptions } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';

/** What the market reads of the city: public records at the configured origin, as hostile input (W12). Never a key, never a cookie. */

const absent = z.object({ reason: z.literal('not_found') });
/** An address that is none is a fault of the offer, which its seller can mend, and no city that cannot be read. */
const anyAddress = z.string().max(2_000);
const offerIn = offerOut.extend({ offer_url: anyAddress, thing_url: anyAddress });
const residentIn = residentOut.extend({ market_handle: handleNamed('another merchant') });

type CityContext = Pick<Market, 'config' | 'log'>;

/** Why there is no answer that can be used. */
type CityTrouble =
  // Nothing came, or nothing in time: whatever is asked next will fare alike.
  | 'silent'
  // Something came that is no record.
  | 'unusable'
  // A record came, and it is not the one that was listed.
  | 'differs';

/** 503 `city_unavailable`, with what the background pass has to know of it. */
export class CityUnavailable extends Refusal {
  readonly trouble: CityTrouble;

  constructor(trouble: CityTrouble, options: RefusalOptions) {
    super('city_unavailable', { retryAfterSeconds: 2, ...options });
    this.trouble = trouble;
  }

  /** The same, for those who may have paid already. */
  afterPayment(): CityUnavailable {
    const nextStep = 'Do not pay again. Nothing was changed and nothing is lost: send the same request again.';
    return new CityUnavailable(this.trouble, { ...this.options, doNotPayAgain: true, nextStep });
  }
}

/** The origin of the city; refuses where there is none. */
export function cityOrigin({ config }: Pick<Market, 'config'>): string {
  if (config.cityUrl === null) throw new Refusal('world_closed');
  return config.cityUrl;
}

/** Null where the city says that there is no such offer. Anything else that is no offer is a city that cannot be read. */
export async function readOffer(market: CityContext, offerId: bigint): Promise<OfferOut | null> {
  const found = await readRecord(market, `/api/world/offer/${offerId}`, z.object({ offer: offerIn }));
  if (found === null) return null;
  if (found.offer.id !== Number(offerId)) throw unusable(market, 'another offer than the one asked for');
  return found.offer;
}

/** Null where the city says that there is no such resident. */
export async function readResident(market: CityContext, handle: string): Promise<ResidentOut | null> {
  const found = await readRecord(market, `/api/resident/${handle}`, z.object({ resident: residentIn }));
  if (found === null) return null;
  if (found.resident.handle !== handle) throw unusable(market, 'another resident than the one asked for');
  return found.resident;
}

async function readRecord<Shape extends z.ZodType>(
  market: CityContext,
  path: string,
  shape: Shape,
): Promise<z.output<Shape> | null> {
  const answer = await askCity(market, `${cityOrigin(market)}${path}`);
  if (answer.status === 404 && absent.safeParse(answer.json).success) return null;
  if (answer.status !== 200) throw unusable(market, `status ${answer.status}`);
  const read = shape.safeParse(answer.json);
  if (!read.success) throw unusable(market, 'an answer that is none');
  return read.data;
}

async function askCity(market: CityContext, url: string): Promise<{ status: number; json: unknown }> {
  try {
    return await askJson(url, {
      body: null,
      deadlineMs: SITE_DEADLINE_SECONDS * 1_000,
      maxBytes: SITE_ANSWER_LIMIT_BYTES,
    });
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    const isSilent = error.why === 'timeout' || error.why === 'unreachable';
    throw isSilent ? unavailable(market, 'silent', error.why) : unusable(market, error.why);
  }
}

/** For a record that has the shape of one, and cannot be. */
export function unusable(market: CityContext, why: string): CityUnavailable {
  return unavailable(market, 'unusable', why);
}

/** What the city sent is neither shown nor logged: it may be anything. */
function unavailable({ log }: CityContext, trouble: CityTrouble, why: string): CityUnavailable {
  log.warn('city_unavailable', { why });
  return new CityUnavailable(trouble, { detail: `The city gave no answer that can be used: ${why}.` });
}

/** What an offer has to say. None of it ever changes. */
export interface ExpectedOffer {
  offerId: bigint;
  thingId: bigint;
  /** A resident. */
  seller: string;
  sellerWallet: Hex;
  priceUnits: bigint;
  marketOrigin: string;
  chainId: bigint;
  draftId: bigint;
  /** Null before it is listed. The city may learn of it later, so that an offer may name none. */
  listingId: bigint | null;
}

/** As in the errors of a refusal. */
export interface OfferDifference {
  path: string;
  message: string;
}

/** In what an offer differs from the one expected: pure. Says what is expected and never what came, which may be anything. */
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
