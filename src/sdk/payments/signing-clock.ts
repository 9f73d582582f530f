import { formed, type OwnWords, ofOwner, own } from '../../contract/own-words.ts';
import type { Environment } from '../environment.ts';
import type { ServerClock } from '../server-clock.ts';
import { TermsRefused } from './payment-errors.ts';

/** Clocks may differ by so much. Whoever lies about the time makes what is signed last longer by no more than this. */
export const MOST_APART_SECONDS = 900;

/** The part of a client of a market or a city that is needed here. */
interface Site {
  readonly baseUrl: string;
  readonly clock: ServerClock;
  readonly environment: Pick<Environment, 'now'>;
}

/**
 * Milliseconds since 1970 for the times of what is signed for a site: by the site's clock, which judges them. Throws `TermsRefused` with
 * `clock_wrong` where that is more than 15 minutes from our own: one of the two is wrong, and it is not known which.
 */
export function signingTime({ baseUrl, clock, environment }: Site, outcome?: OwnWords): number {
  const [here, site] = [environment.now(), clock.now()];
  if (Math.abs(site - here) <= MOST_APART_SECONDS * 1_000) return site;
  const detail = own`The clock here says ${sayTime(here)}, and that of ${ofOwner(new URL(baseUrl).host)} ${sayTime(site)}`;
  throw new TermsRefused('clock_wrong', detail, outcome === undefined ? {} : { outcome });
}

/** `2026-01-31T08:59:06Z`. */
export function sayTime(ms: number): OwnWords {
  return formed('time', new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'));
}
