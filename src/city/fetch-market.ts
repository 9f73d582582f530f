import { z } from 'zod';
import { handleOut } from '../contract/answer-forms.ts';
import { type CheckoutOut, checkoutOut, type DraftOut, displayedHandle, draftOut } from '../contract/world-records.ts';
import { fetchRecord } from '../platform/http/fetch-record.ts';
import { Refusal } from '../platform/refusal.ts';
import type { City } from './context.ts';

/** A market that has lost part of its history answers `listing_lost` for ids that it may have issued. */
const absentProblem = z.object({ reason: z.enum(['not_found', 'listing_lost']) });
const merchantOut = z.object({ handle: handleOut, city_handle: displayedHandle('another resident') });

/** The merchant's side of a link, as shown on the merchant's store. */
export type MerchantRecord = z.output<typeof merchantOut>;

type FetchContext = Pick<City, 'config' | 'log'>;

/** Returns null if the market says that there is no such draft. Throws if its answer is not a draft. */
export async function readDraft(city: FetchContext, id: bigint): Promise<DraftOut | null> {
  const record = await readRecord(city, `/api/world/draft/${id}`, z.object({ draft: draftOut }));
  if (record === null) return null;
  if (record.draft.id !== Number(id)) throw marketUnavailable(city, 'another draft than the one asked for');
  return record.draft;
}

/** Returns null if the market says that there is no such checkout. */
export async function readCheckout(city: FetchContext, id: bigint): Promise<CheckoutOut | null> {
  const record = await readRecord(city, `/api/world/checkout/${id}`, z.object({ checkout: checkoutOut }));
  if (record === null) return null;
  if (record.checkout.id !== Number(id)) throw marketUnavailable(city, 'another checkout than the one asked for');
  return record.checkout;
}

/** Returns null if the market says that there is no such merchant. */
export async function readMerchant(city: FetchContext, handle: string): Promise<MerchantRecord | null> {
  const record = await readRecord(
    city,
    `/api/store/${encodeURIComponent(handle)}?limit=1`,
    z.object({ merchant: merchantOut }),
  );
  if (record === null) return null;
  if (record.merchant.handle !== handle) throw marketUnavailable(city, 'another merchant than the one asked for');
  return record.merchant;
}

function readRecord<Shape extends z.ZodType>(
  city: FetchContext,
  path: string,
  shape: Shape,
): Promise<z.output<Shape> | null> {
  return fetchRecord(`${city.config.marketUrl}${path}`, {
    shape,
    isAbsent: ({ status, json }) => (status === 404 || status === 409) && absentProblem.safeParse(json).success,
    refuse: (why) => marketUnavailable(city, why),
  });
}

/** Builds the refusal without the market's answer, which may contain anything. */
function marketUnavailable({ log }: FetchContext, why: string): Refusal {
  log.warn('market_unavailable', { why });
  return new Refusal('market_unavailable', {
    detail: `The market gave no answer that can be used: ${why}.`,
    retryAfterSeconds: 2,
  });
}
