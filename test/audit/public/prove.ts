import { shown } from '../print.ts';
import type { Ending, Goods, Promised } from '../promises.ts';
import { AUTHORIZATION_USED, authorizationsIn, type Chain, type ChainReceipt, movesOf } from '../read-chain.ts';
import { unitsOf } from '../told.ts';
import type { PublicEvent } from './walk-log.ts';

/** A payment that the market reports. */
export interface Payment {
  /** Name for messages, at the start of a sentence. */
  name: string;
  txHash: string;
  to: string;
  units: bigint;
  /** True if paid by an authorization, so that the transfer comes directly after the use of the authorization. */
  isAuthorized: boolean;
  /** Time of the block in milliseconds. Null if the market does not give it. */
  blockTime: number | null;
  /** Time in milliseconds that the log gives for the sale or the paid listing. Null if it gives none. */
  toldAt: number | null;
  /** Removal in force. Later transfers do not pay, unless a person decided otherwise. */
  removed: Ending | null;
}

export interface Proven {
  txHash: string;
  logIndex: number;
  block: number;
}

export interface Prover {
  faultsOf(payment: Payment): Promise<string[]>;
  /** Transfers already used as a proof, since one transfer pays for one thing. */
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

/** Allowed delay between a removal and its event, which is written a moment later. */
const SLACK_MS = 1_000;
/** Largest allowed difference between the clocks of markets and chains. */
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

/** Formats a time. A block may have a time that no `Date` can hold. */
const timeIn = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : `${ms} ms`);

/** Returns the log indexes of transfers that may have made this payment. */
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
  /** Time in the event, in milliseconds. */
  at: number;
  listingId: number;
  via: string;
  units: bigint;
  txHash: string | null;
  paymentId: number | null;
  /** Removal in force when the sale was recorded. */
  removed: Ending | null;
}

export const nameOf = ({ eventId, listingId }: PublicSale): string =>
  `event ${eventId}, a sale of listing ${listingId},`;

const SALES: readonly string[] = ['sale', 'world_sale'];
const HASH = /^0x[0-9a-f]{64}$/i;

/** Reads the sale in an event and its faults. Null if the event is not a sale or does not name its listing. */
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

/** Returns faults that show without the chain. */
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

/** Returns the payment that must be on the chain. Null if none must be. */
export function paymentOf(sale: PublicSale, terms: Terms | null, isReviewed: boolean): Payment | null {
  const { via, units, txHash } = sale;
  if (terms === null || txHash === null || via === 'free') return null;
  return {
    ...{ name: nameOf(sale), txHash, to: terms.wallet, units, isAuthorized: via === 'x402', blockTime: null },
    toldAt: sale.at,
    removed: isReviewed ? null : sale.removed,
  };
}
