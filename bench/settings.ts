/** What does not depend on the command line. All of it is printed with the outcome. */

export const ROUNDS = 3;
export const READ_CONNECTIONS = 16;
export const WARM_UP_SECONDS = 1;

export const PAYERS = 16;
export const BUYING_AT_ONCE = 8;
export const PURCHASES_PER_ROUND = 100;

/** Accounts that submit transfers directly, one order of transactions each. */
export const SENDERS = 8;
export const TRANSFERS_PER_ROUND = 400;

export const CHAIN_SETTINGS = {
  mining: 'a block for every transaction, at once',
  /** How far the finalized head is behind the latest block. */
  finalityBlocks: 16,
  /** As often, enough empty blocks are mined to make everything final that is in a block. */
  finalizeEverySeconds: 1,
} as const;
