/** Limits on what strangers may use of one process. Operators may set these two; shares and times are fixed. */
export interface Bounds {
  /** Slots. A request holds one from the end of its head until its answer is sent. */
  requestsInFlight: number;
  /** Sockets, not counting event streams. */
  openSockets: number;
}

export const DEFAULT_BOUNDS: Bounds = { requestsInFlight: 2_000, openSockets: 8_000 };

/** Divisor: a tenth of all slots is reserved for requests with a key, token or proof. */
export const RESERVED_PART = 10;
/** Divisor: one network's share of the sockets, and, while over half of the slots are taken, of all slots and of the reserved ones. */
export const NETWORK_PART = 10;
/** Divisor: one address's share of the slots. Applies while over half of the slots are taken. */
export const ADDRESS_PART = 40;

/** Bodies longer than this, or of unknown length, also count against the next two limits. */
export const SHORT_BODY_BYTES = 65_536;
export const LONG_BODIES = 64;
export const LONG_BODIES_PER_NETWORK = 8;

/** A connection is cut if the client receives no byte of a waiting answer for this long. */
export const STALLED_ANSWER_MS = 10_000;
/** Grace period for a slow body. Afterwards the body must keep up with the rate below. */
export const BODY_GRACE_MS = 5_000;
export const MIN_BODY_BYTES_PER_SECOND = 4_096;

/** After an invalid credential on a reserved slot, the client's network gets no reserved slot for this long. */
export const RESERVED_SUSPENDED_MS = 60_000;
export const RETRY_SECONDS = 1;

/** Maximum number of requests of one address that begin in a turn of the event loop. The rest begin in later turns. */
export const MAX_STARTS_PER_TURN = 16;

/** Node reads up to 64 KiB at once. A read with this many dropped requests counts as a flood. */
export const DROPS_PER_FLOOD = 16;
/** After a flood, nothing is read from the client's network for this long. */
export const FLOOD_PAUSE_MS = 2_000;
/** After this many floods in one turn of the event loop, no socket is read until the next turn. */
export const MAX_FLOODS_PER_TURN = 8;

export function shareOf(of: number, share: number): number {
  return Math.max(1, Math.floor(of / share));
}

/** Reasons to refuse a request or to cut a connection, as named in metrics and logs. */
const RULES = [
  ...(['server_full', 'network_share', 'address_share', 'long_bodies', 'sockets_full', 'sockets_of_network'] as const),
  ...(['idle_closed', 'answer_not_taken', 'body_too_slow', 'request_late', 'lane_lost', 'pipelined'] as const),
];
export type Rule = (typeof RULES)[number];
export type RuleCounts = Record<Rule, number>;

export function createRuleCounts(): RuleCounts {
  return Object.fromEntries(RULES.map((rule) => [rule, 0])) as RuleCounts;
}
