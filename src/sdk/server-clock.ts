import type { Environment } from './environment.ts';

/** A market's or city's clock, taken from the `Date` header of its answers. Times are milliseconds since 1970, UTC. */
export interface ServerClock {
  /** The server's time, or ours until an answer has shown it. */
  now(): number;
  /** The earlier of the server's time and ours. What has expired by the earlier time has expired by both. */
  earlier(): number;
  /** Records the `Date` header of an answer that has just arrived. Ignores anything but an HTTP date. */
  note(date: string | null): void;
}

/** The only form that a server may send (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

export function createServerClock(environment: Pick<Environment, 'now'>): ServerClock {
  let aheadMs = 0;
  return {
    now: () => environment.now() + aheadMs,
    earlier: () => environment.now() + Math.min(0, aheadMs),
    note: (date) => {
      const serverMs = date !== null && HTTP_DATE.test(date) ? Date.parse(date) : Number.NaN;
      if (!Number.isNaN(serverMs)) aheadMs = serverMs - environment.now();
    },
  };
}
