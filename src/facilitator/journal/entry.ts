import type { Authorization } from '../../platform/chain/shapes.ts';
import type { Hex } from '../../platform/hex.ts';

/**
 * succeeded and reverted: seen in a block. replaced: its place in the account's order was taken by something that settles nothing, so it
 * can never be mined.
 */
export const ENDS = ['succeeded', 'reverted', 'replaced'] as const;

/** Which share of the gas that may be lost a settlement draws on; see budget/gas-budget.ts. */
export const POOLS = ['contract', 'plain', 'payee', 'known'] as const;
export type Pool = (typeof POOLS)[number];

/** One signed transaction for a place in the order. Of several with one place at most one is ever mined. */
export interface SignedTransaction {
  hash: Hex;
  raw: Hex;
  /** Its place: the nonce of the account. */
  accountNonce: number;
  signedAt: number;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Settles nothing: it only fills the place of an authorization that has run out. */
  fills: boolean;
}

export interface Ending {
  state: (typeof ENDS)[number];
  at: number;
  /** Of the one that was mined, and its block. */
  hash: Hex | null;
  blockNumber: bigint | null;
  gasUsed: bigint;
  costWei: bigint;
  /** What it takes from its pool, in units of USDC. */
  lossUnits: bigint;
  /** Of a revert. */
  cause: string | null;
}

/**
 * One authorization and its place in the account's order. It gets a further place only where another transaction of the account was mined
 * in its place.
 */
export interface Entry {
  authorization: Authorization;
  sender: Hex;
  /** The newest of its places, which is the highest. */
  accountNonce: number;
  /** Whether the payer was a contract; null where an earlier version did not write it down. */
  hasCode: boolean | null;
  pool: Pool;
  /** What it may lose at most, in units of USDC. */
  reservedUnits: bigint;
  /** What the rehearsal used. */
  estimatedGas: bigint;
  /** Oldest first, never empty. */
  transactions: readonly SignedTransaction[];
  ending: Ending | null;
  /** Its end is below the finalized head. */
  isFinal: boolean;
}

/** A payer that waits, as a settlement for it was mined and failed. */
export interface Cooldown {
  payer: Hex;
  until: number;
  /** How many in a row. */
  strikes: number;
}

/** Gas that an entry has cost, in units of USDC. */
export interface Loss {
  at: number;
  pool: Pool;
  units: bigint;
  /** True for a sale that went through, and was cheap for its gas. */
  isSale: boolean;
}

/** The loss of an entry; null where it cost nothing that counts. */
export function lossOf({ ending, pool }: Readonly<Entry>): Loss | null {
  if (ending === null || ending.lossUnits === 0n) return null;
  return { at: ending.at, pool, units: ending.lossUnits, isSale: ending.state === 'succeeded' };
}

export function keyOf({ from, nonce }: Pick<Authorization, 'from' | 'nonce'>): string {
  return `${from.slice(2)}-${nonce.slice(2)}`;
}

/** The newest transaction for its newest place. */
export function newestOf({ transactions, accountNonce }: Readonly<Entry>): SignedTransaction {
  const newest = transactions.findLast((transaction) => transaction.accountNonce === accountNonce);
  if (newest === undefined) throw new Error('an entry without a transaction');
  return newest;
}

/** The newest transaction for each of its places, lowest place first. */
export function placesOf({ transactions }: Readonly<Entry>): SignedTransaction[] {
  const newest = new Map(transactions.map((transaction) => [transaction.accountNonce, transaction]));
  return [...newest.values()].sort((a, b) => a.accountNonce - b.accountNonce);
}

/** The place of the transaction that it ended with; null where it has no end, or none of its transactions was mined. */
export function minedPlaceOf({ transactions, ending, accountNonce }: Readonly<Entry>): number | null {
  if (ending === null || ending.hash === null) return null;
  return transactions.find(({ hash }) => hash === ending.hash)?.accountNonce ?? accountNonce;
}

/** A payer may sign two authorizations with one nonce: only one of them can be paid. */
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
