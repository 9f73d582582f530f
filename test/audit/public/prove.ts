import { shown } from '../print.ts';
import type { Ending, Goods, Promised } from '../promises.ts';
import { AUTHORIZATION_USED, authorizationsIn, type Chain, type ChainReceipt, movesOf } from '../read-chain.ts';
import { unitsOf } from '../told.ts';
import type { PublicEvent } from './walk-log.ts';

/** A payment that the market reports. */
export interface Payment {
  /** Begins a sentence in messages. */
  name: string;
  txHash: string;
  to: string;
  units: bigint;
  /** True: paid by an authorization, so the transfer comes directly after the use of the authorization. */
  isAuthorized: boolean;
  /** Milliseconds, or null where the market does not give the time of the block. */
  blockTime: number | null;
  /** Milliseconds: the time that the log gives for the sale or listing that was paid for. Null: it gives none. */
  toldAt: number | null;
  /** A removal in force: later transfers do not pay, unless a person decided so. */
  removed: Ending | null;
}

export interface Proven {
  txHash: string;
  logIndex: number;
  block: number;
}

export interface Prover {
  faultsOf(payment: Payment): Promise<string[]>;
  /** Used transfers, since one transfer pays for one thing. */
  proven: Map<string, Proven>;
}

export const keyOf = ({ txHash, logIndex }: Pick<Proven, 'txHash' | 'logIndex'>): string => `${txHash} ${logIndex}`;

export function createProver(chain: Chain): Prover {
  const proven = new Map<string, Proven>();
  return {
    proven,
    faultsOf: async (payment) => {
      const { name, txHash } = payment;
      const receipt = await chain.receipt(txHash);
      if (receipt === null || receipt.status !== '0x1')
        return [`${name} names ${txHash}, which the chain does not have`];
      const height = Number(receipt.blockNumber);
      // The auditor's provider may be a little behind the market's.
      if (height > chain.final.number) await chain.refresh();
      if (height > chain.final.number) return [`${name} was paid in block ${height}, which is not final`];
      const block = await chain.block(height);
      if (block?.hash !== receipt.blockHash) return [`${name} was paid in a block that is not in the chain`];
      const fitting = fittingIn(receipt, payment, chain.token);
      if (fitting.length === 0)
        return [`${name} names ${txHash}, in which ${payment.to} did not receive ${payment.units} units for it`];
      const free = fitting.find((logIndex) => !proven.has(keyOf({ txHash, logIndex })));
      if (free === undefined) return [`${name} shares its transfer in ${txHash} with another`];
      proven.set(keyOf({ txHash, logIndex: free }), { txHash, logIndex: free, block: height });
      return faultsOfTime(payment, Number(block.timestamp) * 1000);
    },
  };
}

/** The event of a removal is written a moment after the removal itself. */
const SLACK_MS = 1_000;
/** Largest difference between the clocks of markets and chains. */
const CLOCKS_MS = 300_000;

function faultsOfTime({ name, blockTime, toldAt, removed }: Payment, paidAt: number): string[] {
  return [
    ...(toldAt === null || paidAt <= toldAt + CLOCKS_MS
      ? []
      : [
          `${name} was paid at ${timeIn(paidAt)}, and the log dates what was paid for at ${timeIn(toldAt)}, before that`,
        ]),
    ...(blockTime === null || paidAt === blockTime ? [] : [`${name} names another time than that of its block`]),
    ...(removed === null || paidAt < removed.at + SLACK_MS
      ? []
      : [`${name} was paid after ${removed.name} ${removed.act} the listing`]),
  ];
}

/** A block may carry a time that no `Date` can hold. */
const timeIn = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : `${ms} ms`);

/** Log indexes of the transfers that may have paid for it. */
function fittingIn(receipt: ChainReceipt, { to, units, isAuthorized }: Payment, token: string): number[] {
  const uses = new Set(
    receipt.logs
      .filter((log) => log.topics[0] === AUTHORIZATION_USED)
      .flatMap((log) =>
        authorizationsIn([log], token).map((use) => `${Number(log.logIndex) + 1} ${use.split(' ')[0]}`),
      ),
  );
  return movesOf(receipt, token)
    .filter((moved) => moved.to === to && moved.units === units)
    .filter((moved) => !isAuthorized || uses.has(`${moved.logIndex} ${moved.from}`))
    .map(({ logIndex }) => logIndex);
}

/** A sale according to the log. */
export interface PublicSale {
  eventId: number;
  /** Milliseconds: the time in the event. */
  at: number;
  listingId: number;
  via: string;
  units: bigint;
  txHash: string | null;
  paymentId: number | null;
  /** The removal in force when the sale was recorded. */
  removed: Ending | null;
}

export const nameOf = ({ eventId, listingId }: PublicSale): string =>
  `event ${eventId}, a sale of listing ${listingId},`;

const SALES: readonly string[] = ['sale', 'world_sale'];
const HASH = /^0x[0-9a-f]{64}$/i;

/** Reads the sale of an event and the faults in it. Null: the event is no sale, or does not name its listing. */
export function saleIn(
  { id, at, kind, detail }: PublicEvent,
  promises: ReadonlyMap<number, Promised>,
): { sale: PublicSale; faults: string[] } | null {
  const { listing_id: listing, paid_usdc: paid, tx_hash: hash, payment_id: payment, verified_via: via } = detail;
  if (!SALES.includes(kind) || typeof listing !== 'number' || !Number.isSafeInteger(listing)) return null;
  const units = unitsOf(paid);
  const isHash = typeof hash === 'string' && HASH.test(hash);
  const sale = {
    ...{
      eventId: id,
      at: Date.parse(String(at)),
      listingId: listing,
      via: typeof via === 'string' ? via.slice(0, 20) : '',
    },
    units: BigInt(units === '?' ? -1 : units),
    txHash: isHash ? hash.toLowerCase() : null,
    paymentId: typeof payment === 'number' ? payment : null,
    // A thing that was paid for in its city is sold, whatever the market did.
    removed: kind === 'sale' ? (promises.get(listing)?.removed ?? null) : null,
  };
  const name = nameOf(sale);
  return {
    sale,
    faults: [
      ...(units === '?' ? [`${name} was for ${shown(paid)}, which is no sum of USDC`] : []),
      ...(isHash || hash === undefined ? [] : [`${name} names ${shown(hash)}, which is no transaction`]),
    ],
  };
}

/** Price and payee wallet. */
export type Terms = Pick<Goods, 'wallet' | 'units'>;

/** Checks that need no chain. */
export function faultsOfTerms(sale: PublicSale, terms: Terms | null, isReviewed: boolean): string[] {
  const { via, units, txHash } = sale;
  const name = nameOf(sale);
  if (terms === null) return [`${name} is of a listing that the market does not have`];
  const price = BigInt(terms.units);
  if (via === 'free')
    return units === 0n && price === 0n && txHash === null
      ? []
      : [`${name} was free, and the goods cost ${price} units`];
  if (txHash === null) return [`${name} names no transaction`];
  if (isReviewed || (via === 'x402' ? units === price : units >= price)) return [];
  return [`${name} was paid with ${units} units, and the goods cost ${price}`];
}

/** Returns the payment that the chain has to show, or null if it has to show none. */
export function paymentOf(sale: PublicSale, terms: Terms | null, isReviewed: boolean): Payment | null {
  const { via, units, txHash } = sale;
  if (terms === null || txHash === null || via === 'free') return null;
  return {
    ...{ name: nameOf(sale), txHash, to: terms.wallet, units, isAuthorized: via === 'x402', blockTime: null },
    toldAt: sale.at,
    removed: isReviewed ? null : sale.removed,
  };
}
