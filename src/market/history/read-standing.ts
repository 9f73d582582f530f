import { isoTime } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { readQuota } from '../../platform/database/quotas/read-quota.ts';
import { readRemovalNotices } from '../appeals/read-removal-notices.ts';
import type { Market, Merchant } from '../context.ts';
import { countCredits } from '../fees/store.ts';
import { presentFlag } from '../flags/present-flag.ts';
import { readFlags } from '../flags/store.ts';
import { findWaitingSet } from '../identity/codes/store.ts';
import { type DailyQuota, dailyQuota } from '../limits/daily-quota.ts';
import { presentMerchant } from '../merchants/present-merchant.ts';
import { readMerchant } from '../merchants/store.ts';
import { presentReview } from './present-review.ts';
import { readReviews } from './store.ts';

/** Each ends within weeks; more than that at a time are shown as room is made. */
const MOST_REVIEWS = 200;
const MOST_FLAGS = 200;
const SHOWN_QUOTAS: readonly DailyQuota[] = [
  'guard_runs_per_merchant_day',
  'votes_per_merchant_day',
  'voices_per_merchant_day',
];

/** What a merchant's own record says beyond what can be walked. To be given an open snapshot. */
export async function readStanding(market: Market, snapshot: Queryable, caller: Merchant) {
  const merchant = await readMerchant(snapshot, caller.id);
  if (merchant === null) throw new Error(`merchant ${caller.id} has a key and no row`);
  const reviews = await readReviews(snapshot, caller, MOST_REVIEWS);
  const flags = caller.maintainer ? await readFlags(snapshot, MOST_FLAGS) : [];
  return {
    merchant: presentMerchant(merchant),
    credits: Number(await countCredits(snapshot, caller.id)),
    reviews: reviews.map(presentReview),
    removal_notices: await readRemovalNotices(snapshot, caller.id),
    flags: flags.map(presentFlag),
    quotas: await readQuotas(market, snapshot, caller.id),
    pending_codes: await readPendingCodes(market, snapshot, caller.id),
  };
}

async function readQuotas(market: Market, snapshot: Queryable, merchantId: bigint) {
  const now = market.clock.now();
  const quotas = SHOWN_QUOTAS.map(async (name) => {
    const { limit, used, resetsAt } = await readQuota(snapshot, now, dailyQuota(market, name, merchantId));
    return [name, { limit, used, resets_at: isoTime(resetsAt) }] as const;
  });
  return Object.fromEntries(await Promise.all(quotas));
}

async function readPendingCodes({ clock }: Market, snapshot: Queryable, merchantId: bigint) {
  const waiting = await findWaitingSet(snapshot, merchantId, new Date(clock.now()));
  return waiting === null ? null : { valid_at: isoTime(waiting) };
}
