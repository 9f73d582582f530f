import { z } from 'zod';
import { handleOut } from '../contract/answer-forms.ts';
import { SITE_ANSWER_LIMIT_BYTES, SITE_DEADLINE_SECONDS } from '../contract/vocabulary.ts';
import { type CheckoutOut, checkoutOut, type DraftOut, draftOut, handleNamed } from '../contract/world-records.ts';
import { askJson, OutboundFailure } from '../platform/http/outbound-requests.ts';
import { Refusal } from '../platform/refusal.ts';
import type { City } from './context.ts';

/** What the city reads of the market: public records at the configured origin, as hostile input (W12). Never a key, never a cookie. */

/** A market that has lost a part of its books says `listing_lost` of what it may have shown. */
const absent = z.object({ reason: z.enum(['not_found', 'listing_lost']) });
const merchantOut = z.object({ handle: handleOut, city_handle: handleNamed('another resident') });

/** What a store shows of the merchant's side of a link. */
export type MerchantRecord = z.output<typeof merchantOut>;

type FetchContext = Pick<City, 'config' | 'log'>;

/** Null where the market says that there is no such draft. Anything else that is no draft is a market that cannot be read. */
export async function readDraft(city: FetchContext, id: bigint): Promise<DraftOut | null> {
  const found = await readRecord(city, `/api/world/draft/${id}`, z.object({ draft: draftOut }));
  if (found === null) return null;
  if (found.draft.id !== Number(id)) throw unavailable(city, 'another draft than the one asked for');
  return found.draft;
}

/** Null where the market says that there is no such checkout. */
export async function readCheckout(city: FetchContext, id: bigint): Promise<CheckoutOut | null> {
  const found = await readRecord(city, `/api/world/checkout/${id}`, z.object({ checkout: checkoutOut }));
  if (found === null) return null;
  if (found.checkout.id !== Number(id)) throw unavailable(city, 'another checkout than the one asked for');
  return found.checkout;
}

/** Null where the market says that there is no such merchant. */
export async function readMerchant(city: FetchContext, handle: string): Promise<MerchantRecord | null> {
  const found = await readRecord(
    city,
    `/api/store/${encodeURIComponent(handle)}?limit=1`,
    z.object({ merchant: merchantOut }),
  );
  if (found === null) return null;
  if (found.merchant.handle !== handle) throw unavailable(city, 'another merchant than the one asked for');
  return found.merchant;
}

async function readRecord<Shape extends z.ZodType>(
  city: FetchContext,
  path: string,
  shape: Shape,
): Promise<z.output<Shape> | null> {
  const answer = await ask(city, `${city.config.marketUrl}${path}`);
  if ((answer.status === 404 || answer.status === 409) && absent.safeParse(answer.json).success) return null;
  if (answer.status !== 200) throw unavailable(city, `status ${answer.status}`);
  const read = shape.safeParse(answer.json);
  if (!read.success) throw unavailable(city, 'an answer that is none');
  return read.data;
}

async function ask(city: FetchContext, url: string): Promise<{ status: number; json: unknown }> {
  try {
    return await askJson(url, {
      body: null,
      deadlineMs: SITE_DEADLINE_SECONDS * 1_000,
      maxBytes: SITE_ANSWER_LIMIT_BYTES,
    });
  } catch (error) {
    if (error instanceof OutboundFailure) throw unavailable(city, error.why);
    throw error;
  }
}

/** What the market sent is neither shown nor logged: it may be anything. */
function unavailable({ log }: FetchContext, why: string): Refusal {
  log.warn('market_unavailable', { why });
  return new Refusal('market_unavailable', {
    detail: `The market gave no answer that can be used: ${why}.`,
    retryAfterSeconds: 2,
  });
}
