import type { OfferOut, WorldReceipt } from '../../src/contract/world-records.ts';

/** One transfer of USDC in the canonical chain. Time in seconds. */
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

/** What the chain shows at one moment: all that the reference knows of it. */
export interface View {
  latest: Point;
  finalized: Point;
  transfers: readonly Transfer[];
}

/** Of the thing, as its seller means to sell it. */
export interface Terms {
  /** A resident. */
  seller: string;
  payee: string;
  units: bigint;
}

/** As a resident was told of it, and what its holder and the chain have made of it since. */
export interface Reservation {
  /** The resident who holds it. */
  who: string;
  /** The same person on the market. */
  merchant: string;
  checkout: number;
  payer: string;
  payee: string;
  units: bigint;
  /** Seconds. */
  from: number;
  until: number;
  /** Transactions that the holder named, with a signature of the payer. */
  named: Set<string>;
  /** A transfer that fits was in the chain once. */
  hasFitted: boolean;
  /** Milliseconds: since when a payment is waited for. */
  pendingSince: number | null;
  /** Milliseconds: when it was lost unpaid. */
  lostAt: number | null;
}

/** A row that proves a sale, on either site. */
export interface Proof {
  hash: string;
  block: number;
}

/** How one thing stands on both sites: what they tell the public, and what is in their tables. */
export interface Seen {
  offer: OfferOut;
  owner: string;
  /** The newest first. */
  history: readonly { owner: string; offer_id: number | null }[];
  locked: boolean;
  cityProofs: readonly Proof[];
  /** The listing in the table, and as the public sees it. */
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
  /** The resident that it is made out to. */
  who: string;
  /** Milliseconds. */
  until: number;
}

/** What the market was told when it read the offer. */
export const WIRES = ['honest', 'hang_up', 'price', 'nothing', 'claimed'] as const;
export type Wire = (typeof WIRES)[number];
