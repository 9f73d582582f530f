/** Settings that no option changes. All are printed with the result. */

export const READ_CONNECTIONS = 16;
export const WARM_UP_SECONDS = 1;

/** Number of payers. It exceeds the number of concurrent purchases, so that no purchase waits for an earlier payment of the same wallet. */
export const PAYERS = 128;

export interface Level {
  /** Concurrent purchases whose transaction is not mined yet. */
  atOnce: number;
  /** Purchases per round. A slow round starts fewer. */
  purchases: number;
  transfers: number;
}

export const LEVELS: readonly Level[] = [
  { atOnce: 1, purchases: 10, transfers: 200 },
  { atOnce: 8, purchases: 320, transfers: 800 },
  { atOnce: 64, purchases: 640, transfers: 800 },
];

/** No purchase starts after this time, so that a slow seller's round is smaller instead of longer. */
export const BUYING_SECONDS = 8;

/** Pause of a buyer between requests, instead of the seconds of Retry-After. */
export const BUYER_POLL_MS = 200;

/** Number of accounts that submit transfers directly, each with its own sequence of account nonces. */
export const SENDERS = Math.max(...LEVELS.map(({ atOnce }) => atOnce));

/** Transfers of strangers per block while purchases are measured. */
export const FOREIGN_TRANSFERS = 300;

export const CHAIN_SETTINGS = {
  blockEverySeconds: 0.1,
  /** Distance from the latest block to the finalized head. Must be even. */
  finalityBlocks: 6,
} as const;

/** Goods per buyer in a slice. `atOnce` is also the number of sellers. */
export const FREE_SALES = { atOnce: 64, listingsOfEach: 5 } as const;
