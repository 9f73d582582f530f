import { exceeded } from '../../budgets/exceeded.ts';
import type { Clock } from '../../clock.ts';
import type { Refusal } from '../../refusal.ts';
import type { Database } from '../database.ts';
import {
  type CountedAct,
  type Counting,
  countInWindow,
  countUnless,
  readWindow,
  type ScalarQuery,
} from './count-in-window.ts';
import { type Quota, windowAt } from './quota.ts';

/** Longer than any window. */
const KEPT_MS = 2 * 86_400_000;

interface Needs {
  database: Database;
  clock: Clock;
}

/**
 * Counts this call, in a transaction of its own, and refuses it beyond the limit. To be called before the check it guards:
 * refused calls count too, and nothing that fails later takes the count back.
 */
export async function takeQuota(needs: Needs, quota: Quota): Promise<void> {
  const now = needs.clock.now();
  const { used } = await needs.database.one<{ used: number }>(countInWindow(countingOf(quota, now)));
  if (used > quota.limit) throw refusalOf(quota, now);
}

/**
 * The same, unless that scalar query (of an int8) has a value: then this call counts nothing, is never refused, and the value is the
 * answer. One statement.
 */
export async function takeQuotaUnless(needs: Needs, quota: Quota, settled: ScalarQuery): Promise<bigint | null> {
  return (await takeQuotaAndDo<object>(needs, quota, settled, null)).settled;
}

/**
 * The same together with an act that needs no other statement, and what that says. Only an error of the database, which undoes the act,
 * takes the count back.
 */
export async function takeQuotaAndDo<Done extends object>(
  { database, clock }: Needs,
  quota: Quota,
  settled: ScalarQuery,
  act: CountedAct | null,
): Promise<{ settled: bigint } | (Done & { settled: null })> {
  const now = clock.now();
  const found = await database.one<{ used: number | null } & ({ settled: bigint } | (Done & { settled: null }))>(
    countUnless(settled, countingOf(quota, now), act),
  );
  if (found.settled === null && (found.used ?? 0) > quota.limit) throw refusalOf(quota, now);
  return found;
}

/** The same, but what was counted in this window already, under the name and subject of `seen`, is not counted again. */
export async function takeQuotaOnce(needs: Needs, quota: Quota, seen: Pick<Quota, 'name' | 'subject'>): Promise<void> {
  const now = needs.clock.now();
  const mark = countingOf({ ...quota, ...seen, limit: 1 }, now);
  // Under a lock, so that fifty at once with the same thing count once, and a refused one leaves no mark to slip in by.
  const isWithin = await needs.database.transaction(async (tx) => {
    const [, marked] = await Promise.all([
      tx.lock(`quota:${quota.name}:${quota.subject}`),
      readWindow(tx, mark.window),
    ]);
    if (marked > 0) return true;
    const { used } = await tx.one<{ used: number }>(countInWindow(countingOf(quota, now)));
    if (used > quota.limit) return false;
    tx.later(countInWindow(mark));
    return true;
  });
  if (!isWithin) throw refusalOf(quota, now);
}

function countingOf({ name, subject, limit, windowSeconds }: Quota, now: number): Counting {
  const window = { name, subject, start: windowAt(now, windowSeconds).start };
  return { window, limit, sweepBefore: new Date(now - KEPT_MS) };
}

function refusalOf({ name, limit, windowSeconds }: Quota, now: number): Refusal {
  const { end } = windowAt(now, windowSeconds);
  return exceeded({ name, limit, windowSeconds, retryAfterMs: end.getTime() - now });
}
