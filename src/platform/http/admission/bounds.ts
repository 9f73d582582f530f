/** What strangers may hold of one process. Sizes an operator may set come first; the shares and times are fixed. */
export interface Bounds {
  /** Slots: requests from the end of their head until their answer is out. */
  requestsInFlight: number;
  /** Sockets that are not event streams. */
  openSockets: number;
}

export const DEFAULT_BOUNDS: Bounds = { requestsInFlight: 2_000, openSockets: 8_000 };

/** Of all slots, those that only requests with a key, token or proof may take. */
export const RESERVED_PART = 10;
/** What one network holds at most: of the sockets always, of all slots and of those kept while over half of the slots are taken. */
export const NETWORK_PART = 10;
/** The same for one address, of the slots. */
export const ADDRESS_PART = 40;

/** A body that is longer, or whose length is not announced, takes one of these slots as well. */
export const SHORT_BODY_BYTES = 65_536;
export const LONG_BODIES = 64;
export const LONG_BODIES_PER_NETWORK = 8;

/** Bytes of an answer that wait for that long without one being taken. */
export const STALLED_ANSWER_MS = 10_000;
/** A body may begin slowly; from then on it must have come at this rate on the whole. */
export const BODY_GRACE_MS = 5_000;
export const LEAST_BODY_BYTES_PER_SECOND = 4_096;

/** After what failed on a kept slot its network takes none for that long. */
export const RESERVED_SUSPENDED_MS = 60_000;
export const RETRY_SECONDS = 1;

/** Of one address, requests that begin in one turn of the event loop; the rest wait for the next turn. */
export const STARTED_IN_TURN = 16;

/** Node reads up to 64 KiB at once. When more requests of one read are dropped, the server pauses reading. */
export const DROPPED_IN_TURN = 16;
/** After that, the client's network is not read for so long. */
export const READING_PAUSED_MS = 100;

export function part(of: number, share: number): number {
  return Math.max(1, Math.floor(of / share));
}

/** Why something was turned away or cut, as metrics and log call it. */
const RULES = [
  ...(['server_full', 'network_share', 'address_share', 'long_bodies', 'sockets_full', 'sockets_of_network'] as const),
  ...(['idle_closed', 'answer_not_taken', 'body_too_slow', 'request_late', 'lane_lost', 'pipelined'] as const),
];
export type Rule = (typeof RULES)[number];
export type RuleCounts = Record<Rule, number>;

export function noneCounted(): RuleCounts {
  return Object.fromEntries(RULES.map((rule) => [rule, 0])) as RuleCounts;
}
