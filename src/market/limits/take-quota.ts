import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { type Quota, windowAt } from './quota.ts';
import { countInWindow, readWindow } from './store.ts';

/** Longer than any window. */
const KEPT_MS = 2 * 86_400_000;

type Needs = Pick<Market, 'database' | 'clock'>;

/**
 * Counts this call, in a transaction of its own, and refuses it beyond the limit. To be called before the check it guards:
 * refused calls count too, and nothing that fails later takes the count back.
 */
export async function takeQuota(market: Needs, quota: Quota): Promise<void> {
  const now = market.clock.now();
  const used = await countInWindow(market.database, windowOf(quota, now), quota.limit, new Date(now - KEPT_MS));
  if (used > quota.limit) throw exceeded(quota, now);
}

/** The same, but what was counted in this window already, under the name and subject of `seen`, is not counted again. */
export async function takeQuotaOnce(market: Needs, quota: Quota, seen: Pick<Quota, 'name' | 'subject'>): Promise<void> {
  const now = market.clock.now();
  const sweepBefore = new Date(now - KEPT_MS);
  const mark = windowOf({ ...quota, ...seen }, now);
  // Under a lock, so that fifty at once with the same thing count once, and a refused one leaves no mark to slip in by.
  const isWithin = await market.database.transaction(async (tx) => {
    await tx.lock(`quota:${quota.name}:${quota.subject}`);
    if ((await readWindow(tx, mark)) > 0) return true;
    const used = await countInWindow(tx, windowOf(quota, now), quota.limit, sweepBefore);
    if (used > quota.limit) return false;
    await countInWindow(tx, mark, 1, sweepBefore);
    return true;
  });
  if (!isWithin) throw exceeded(quota, now);
}

function windowOf({ name, subject, windowSeconds }: Quota, now: number) {
  return { name, subject, start: windowAt(now, windowSeconds).start };
}

function exceeded({ name, limit, windowSeconds }: Quota, now: number): Refusal {
  const { end } = windowAt(now, windowSeconds);
  return new Refusal('rate_limited', {
    detail: `${name}: ${limit} in ${windowSeconds} seconds are used up.`,
    retryAfterSeconds: Math.max(1, Math.ceil((end.getTime() - now) / 1_000)),
  });
}
