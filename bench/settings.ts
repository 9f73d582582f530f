/** What does not depend on the command line. All of it is printed with the outcome. */

export const READ_CONNECTIONS = 16;
export const WARM_UP_SECONDS = 1;

/** More than buy at once: no purchase waits for an earlier payment of the same wallet. */
export const PAYERS = 128;

export interface Level {
  /** So many purchases at once whose transaction is not mined yet. */
  atOnce: number;
  /** Of each round; in a slow round fewer are begun. */
  purchases: number;
  transfers: number;
}

export const LEVELS: readonly Level[] = [
  { atOnce: 1, purchases: 10, transfers: 200 },
  { atOnce: 8, purchases: 320, transfers: 800 },
  { atOnce: 64, purchases: 640, transfers: 800 },
];

/** After it no purchase begins: a round of a slow seller is smaller, not longer. */
export const BUYING_SECONDS = 8;

/** How long a buyer waits before asking again, in place of the seconds of Retry-After. */
export const BUYER_POLL_MS = 200;

/** Accounts that submit transfers directly, one order of transactions each. */
export const SENDERS = Math.max(...LEVELS.map(({ atOnce }) => atOnce));

/** Transfers of others in every block while purchases are measured. */
export const FOREIGN_TRANSFERS = 300;

export const CHAIN_SETTINGS = {
  blockEverySeconds: 0.1,
  /** How far the finalized head is behind the latest block; an even number. */
  finalityBlocks: 6,
} as const;

/** Every buyer takes so many goods in a slice; `atOnce` is the number of sellers too. */
export const FREE_SALES = { atOnce: 64, listingsOfEach: 5 } as const;
