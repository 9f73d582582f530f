import { z } from 'zod';
import { SITE_ANSWER_LIMIT_BYTES, SITE_DEADLINE_SECONDS } from '../../../contract/vocabulary.ts';
import { type OfferOut, offerOut, type ResidentOut, residentOut } from '../../../contract/world-records.ts';
import { askJson, OutboundFailure } from '../../../platform/http/outbound-requests.ts';
import { Refusal, type RefusalOptions } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';

/** What the market reads of the city: public records at the configured origin, as hostile input (W12). Never a key, never a cookie. */

const absent = z.object({ reason: z.literal('not_found') });

type Needs = Pick<Market, 'config' | 'log'>;

/** Why there is no answer that can be used. */
export type CityTrouble =
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
export async function readOffer(market: Needs, offerId: bigint): Promise<OfferOut | null> {
  const found = await readRecord(market, `/api/world/offer/${offerId}`, z.object({ offer: offerOut }));
  if (found === null) return null;
  if (found.offer.id !== Number(offerId)) throw unusable(market, 'another offer than the one asked for');
  return found.offer;
}

/** Null where the city says that there is no such resident. */
export async function readResident(market: Needs, handle: string): Promise<ResidentOut | null> {
  const found = await readRecord(market, `/api/resident/${handle}`, z.object({ resident: residentOut }));
  if (found === null) return null;
  if (found.resident.handle !== handle) throw unusable(market, 'another resident than the one asked for');
  return found.resident;
}

async function readRecord<Shape extends z.ZodType>(
  market: Needs,
  path: string,
  shape: Shape,
): Promise<z.output<Shape> | null> {
  const answer = await ask(market, `${cityOrigin(market)}${path}`);
  if (answer.status === 404 && absent.safeParse(answer.json).success) return null;
  if (answer.status !== 200) throw unusable(market, `status ${answer.status}`);
  const read = shape.safeParse(answer.json);
  if (!read.success) throw unusable(market, 'an answer that is none');
  return read.data;
}

async function ask(market: Needs, url: string): Promise<{ status: number; json: unknown }> {
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
export function unusable(market: Needs, why: string): CityUnavailable {
  return unavailable(market, 'unusable', why);
}

/** What the city sent is neither shown nor logged: it may be anything. */
function unavailable({ log }: Needs, trouble: CityTrouble, why: string): CityUnavailable {
  log.warn('city_unavailable', { why });
  return new CityUnavailable(trouble, { detail: `The city gave no answer that can be used: ${why}.` });
}
