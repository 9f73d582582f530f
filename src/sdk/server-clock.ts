import type { Environment } from './environment.ts';

/** Clock of a site, as the header `Date` of its answers shows it, next to our own. Times are milliseconds since 1970, UTC. */
export interface ServerClock {
  /** Time at the site; our own while no answer has shown one. */
  now(): number;
  /** Time by whichever of the two clocks is behind: what has run out by it has run out by both. */
  earlier(): number;
  /** Takes the `Date` of an answer that has just come. Anything but a date of HTTP changes nothing. */
  note(date: string | null): void;
}

/** The one form that a server may send (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

export function createServerClock(environment: Pick<Environment, 'now'>): ServerClock {
  let aheadMs = 0;
  return {
    now: () => environment.now() + aheadMs,
    earlier: () => environment.now() + Math.min(0, aheadMs),
    note: (date) => {
      const siteMs = date !== null && HTTP_DATE.test(date) ? Date.parse(date) : Number.NaN;
      if (!Number.isNaN(siteMs)) aheadMs = siteMs - environment.now();
    },
  };
}
