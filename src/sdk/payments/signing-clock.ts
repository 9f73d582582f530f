import { formed, type OwnWords, ofOwner, own } from '../../contract/own-words.ts';
import type { Environment } from '../environment.ts';
import type { ServerClock } from '../server-clock.ts';
import { TermsRefused } from './payment-errors.ts';

/** Largest accepted difference between clocks. A lying server can extend a signature by no more than this. */
export const MAX_APART_SECONDS = 900;

interface Server {
  readonly baseUrl: string;
  readonly clock: ServerClock;
  readonly environment: Pick<Environment, 'now'>;
}

/**
 * Returns the server's time in milliseconds since 1970, for dating signatures, because the server judges them. Throws `TermsRefused` with
 * `clock_wrong` if it is more than 15 minutes from ours, since either clock may be wrong.
 */
export function signingTime({ baseUrl, clock, environment }: Server, outcome?: OwnWords): number {
  const [here, server] = [environment.now(), clock.now()];
  if (Math.abs(server - here) <= MAX_APART_SECONDS * 1_000) return server;
  const detail = own`This machine’s clock says ${formatTime(here)}, the one of ${ofOwner(new URL(baseUrl).host)} ${formatTime(server)}`;
  throw new TermsRefused('clock_wrong', detail, outcome === undefined ? {} : { outcome });
}

/** Formats a time like `2026-01-31T08:59:06Z`. */
export function formatTime(ms: number): OwnWords {
  return formed('time', new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'));
}
