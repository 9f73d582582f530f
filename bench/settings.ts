import { DEFAULT_LIMITS } from '../src/contract/vocabulary.ts';

/** What does not depend on the command line. All of it is printed with the outcome. */

export const ROUNDS = 3;
export const READ_CONNECTIONS = 16;
export const WARM_UP_SECONDS = 1;

export const PAYERS = 16;
export const BUYING_AT_ONCE = 8;
export const PURCHASES_PER_ROUND = 120;

/** After it nobody begins to buy: on a busy machine a round is smaller, not longer. */
export const BUYING_SECONDS = 8;

/** Accounts that submit transfers directly, one order of transactions each. */
export const SENDERS = 8;
export const TRANSFERS_PER_ROUND = 800;

export const CHAIN_SETTINGS = {
  blockEverySeconds: 0.1,
  /** How far the finalized head is behind the latest block; an even number. */
  finalityBlocks: 6,
} as const;

/** So high that a load from one address meets none of them. */
export const WIDE_LIMITS = JSON.stringify(
  Object.fromEntries(
    Object.keys(DEFAULT_LIMITS).flatMap((name) => (name.includes('_per_') ? [[name, 1_000_000_000]] : [])),
  ),
);
