import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { type Quota, windowAt } from './quota.ts';
import { countInWindow } from './store.ts';

/** Longer than any window. */
const KEPT_MS = 2 * 86_400_000;

/**
 * Counts this call, in a transaction of its own, and refuses it beyond the limit. To be called before the check it guards:
 * refused calls count too, and nothing that fails later takes the count back.
 */
export async function takeQuota(market: Pick<Market, 'database' | 'clock'>, quota: Quota): Promise<void> {
  const { name, subject, limit, windowSeconds } = quota;
  const now = market.clock.now();
  const { start, end } = windowAt(now, windowSeconds);
  const used = await countInWindow(market.database, { name, subject, start }, limit, new Date(now - KEPT_MS));
  if (used <= limit) return;
  throw new Refusal('rate_limited', {
    detail: `${name}: ${limit} in ${windowSeconds} seconds are used up.`,
    retryAfterSeconds: Math.max(1, Math.ceil((end.getTime() - now) / 1_000)),
  });
}

/** Notes that something was counted in this window, where it is to be counted once. */
export async function countOnce(market: Pick<Market, 'database' | 'clock'>, quota: Quota): Promise<void> {
  const now = market.clock.now();
  const { start } = windowAt(now, quota.windowSeconds);
  const window = { name: quota.name, subject: quota.subject, start };
  await countInWindow(market.database, window, quota.limit, new Date(now - KEPT_MS));
}
