import type { Authorization } from '../../platform/chain/shapes.ts';
import type { Hex } from '../../platform/hex.ts';

/**
 * succeeded and reverted: seen in a block. replaced: a transaction that settles nothing used the account nonce, so no transfer can be
 * mined.
 */
export const ENDS = ['succeeded', 'reverted', 'replaced'] as const;

/** The share of the gas budget that a settlement uses; see budget/gas-budget.ts. */
export const POOLS = ['contract', 'plain', 'payee', 'known'] as const;
export type Pool = (typeof POOLS)[number];

/** One signed transaction. At most one of several with the same account nonce is ever mined. */
export interface SignedTransaction {
  hash: Hex;
  raw: Hex;
  accountNonce: number;
  signedAt: number;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** True for an empty transfer, which settles nothing and only uses up the account nonce. */
  fills: boolean;
}

export interface Ending {
  state: (typeof ENDS)[number];
  at: number;
  /** The mined transaction and its block. Null if none was mined. Files of an earlier version did not record the block. */
  hash: Hex | null;
  blockNumber: bigint | null;
  gasUsed: bigint;
  costWei: bigint;
  /** Loss charged to the pool, in millionths of a USDC. */
  lossUnits: bigint;
  cause: string | null;
}

/**
 * One authorization and its account nonce. The authorization gets a further account nonce only if another transaction of the account was
 * mined with the previous one.
 */
export interface Entry {
  authorization: Authorization;
  sender: Hex;
  /** The newest nonce, which is the highest. */
  accountNonce: number;
  /** True if the payer was a contract. Null in entries of an earlier version. */
  hasCode: boolean | null;
  pool: Pool;
  /** Loss to reserve in millionths of a USDC: the whole gas limit at the price expected when the first transaction was signed. */
  reservedUnits: bigint;
  estimatedGas: bigint;
  /** Oldest first, never empty. */
  transactions: readonly SignedTransaction[];
  ending: Ending | null;
  /** True once the block of the ending is at or below the finalized head. */
  isFinal: boolean;
}

/** A payer that must wait because its settlement reverted. */
export interface Cooldown {
  payer: Hex;
  until: number;
  strikes: number;
}

export interface Loss {
  at: number;
  pool: Pool;
  units: bigint;
  /** True for a sale that succeeded but was cheap for its gas. */
  isSale: boolean;
}

/** Returns null if the entry has not ended or cost nothing that counts. */
export function lossOf({ ending, pool }: Readonly<Entry>): Loss | null {
  if (ending === null || ending.lossUnits === 0n) return null;
  return { at: ending.at, pool, units: ending.lossUnits, isSale: ending.state === 'succeeded' };
}

export function keyOf({ from, nonce }: Pick<Authorization, 'from' | 'nonce'>): string {
  return `${from.slice(2)}-${nonce.slice(2)}`;
}

/** Returns the newest transaction with the newest nonce. */
export function newestOf({ transactions, accountNonce }: Readonly<Entry>): SignedTransaction {
  const newest = transactions.findLast((transaction) => transaction.accountNonce === accountNonce);
  if (newest === undefined) throw new Error('an entry without a transaction');
  return newest;
}

/** Returns the newest transaction for each nonce, lowest nonce first. */
export function newestPerNonce({ transactions }: Readonly<Entry>): SignedTransaction[] {
  const newest = new Map(transactions.map((transaction) => [transaction.accountNonce, transaction]));
  return [...newest.values()].sort((a, b) => a.accountNonce - b.accountNonce);
}

/** Returns the account nonce of the transaction that was mined. Null if the entry has not ended, or none was mined. */
export function minedNonceOf({ transactions, ending, accountNonce }: Readonly<Entry>): number | null {
  if (ending === null || ending.hash === null) return null;
  return transactions.find(({ hash }) => hash === ending.hash)?.accountNonce ?? accountNonce;
}

/** Compares every field, because a payer may sign two authorizations with one nonce, of which only one can be paid. */
export function sameAuthorization(a: Authorization, b: Authorization): boolean {
  return (
    a.from === b.from &&
    a.nonce === b.nonce &&
    a.to === b.to &&
    a.value === b.value &&
    a.validAfter === b.validAfter &&
    a.validBefore === b.validBefore
  );
}
