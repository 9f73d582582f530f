import type { OfferOut, WorldReceipt } from '../../src/contract/world-records.ts';

/** One transfer of USDC in the canonical chain. Times are in seconds. */
export interface Transfer {
  hash: string;
  from: string;
  to: string;
  units: bigint;
  block: number;
  time: number;
}

interface Point {
  number: number;
  time: number;
}

/** The visible chain at one moment, which is all that the reference knows of it. */
export interface View {
  latest: Point;
  finalized: Point;
  transfers: readonly Transfer[];
}

export interface Terms {
  seller: string;
  payee: string;
  units: bigint;
}

/** A reservation as shown to a resident, and its changes by the holder and the chain since then. */
export interface Reservation {
  /** Handle of the resident who holds the reservation. */
  who: string;
  /** Handle of the same person on the market. */
  merchant: string;
  checkout: number;
  payer: string;
  payee: string;
  units: bigint;
  /** Start as Unix time in seconds, like `until`. */
  from: number;
  until: number;
  /** Transactions that the holder claimed with a signature of the payer. */
  named: Set<string>;
  /** True once a fitting transfer was in the chain. */
  hasFitted: boolean;
  /** When the wait for a payment began, in milliseconds. */
  pendingSince: number | null;
  /** When the reservation was lost unpaid, in milliseconds. */
  lostAt: number | null;
}

export interface Proof {
  hash: string;
  block: number;
}

/** The state of one thing on both sites: public data and table rows. */
export interface Seen {
  offer: OfferOut;
  owner: string;
  /** Owners, newest first. */
  history: readonly { owner: string; offer_id: number | null }[];
  locked: boolean;
  cityProofs: readonly Proof[];
  /** The listing's state in the table. `shown` has the public state. */
  state: string;
  shown: { state: string; sales: number; world_receipt: WorldReceipt | null };
  draft: string;
  checkouts: ReadonlyMap<number, Checkout>;
  marketProofs: readonly Proof[];
  purchases: readonly { hash: string; buyer: string; checkout: number }[];
  sales: number;
  cancellations: number;
}

export interface Checkout {
  state: string;
  /** Resident to whom it was issued. */
  who: string;
  /** Unix time in milliseconds. */
  until: number;
}

/** Kinds of answers that the market gets when it reads the offer from the city. */
export const WIRES = ['honest', 'hang_up', 'price', 'nothing', 'claimed'] as const;
export type Wire = (typeof WIRES)[number];
