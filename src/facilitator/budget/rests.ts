import type { Hex } from '../../platform/hex.ts';
import type { Rest } from '../journal/entry.ts';
import type { Limits } from './limits.ts';

const FORGIVEN_MS = 24 * 60 * 60 * 1000;

/** The rest that follows a revert: twice as long as the one before, which is forgotten a day after its end. */
export function nextRest(payer: Hex, before: Rest | undefined, now: number, limits: Limits): Rest {
  const strikes = before !== undefined && before.until + FORGIVEN_MS > now ? before.strikes + 1 : 1;
  const seconds = Math.min(limits.rest_seconds * 2 ** Math.min(strikes - 1, 30), limits.rest_most_seconds);
  return { payer, until: now + seconds * 1000, strikes };
}

/** 0 for a payer that does not rest. */
export function restingSeconds(rest: Rest | undefined, now: number): number {
  return rest === undefined || rest.until <= now ? 0 : Math.ceil((rest.until - now) / 1000);
}
