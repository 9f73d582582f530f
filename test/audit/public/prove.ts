import { type Goods, type PromisedGoods, takePromise } from '../promises.ts';
import { AUTHORIZATION_USED, authorizationsIn, type Chain, type ChainReceipt, movesOf } from '../read-chain.ts';
import { type EventDetail, unitsOf } from '../told.ts';
import type { PublicEvent } from './read-market.ts';

/** Something that the market says was paid for. */
export interface Payment {
  /** For people, and to begin a sentence with. */
  name: string;
  txHash: string;
  to: string;
  units: bigint;
  /** By an authorization: then the transfer stands directly behind its use. */
  isAuthorized: boolean;
  /** Milliseconds, where the market says of which second the block is. */
  blockTime: number | null;
}

/** A transfer that paid for one thing. */
export interface Proven {
  txHash: string;
  logIndex: number;
  block: number;
}

export interface Prover {
  faultsOf(payment: Payment): Promise<string[]>;
  /** One transfer pays for one thing: each stands here once. */
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
      // Market and auditor may read different providers: one may be a little behind.
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
      if (payment.blockTime === null || Number(block.timestamp) * 1000 === payment.blockTime) return [];
      return [`${name} names another time than that of its block`];
    },
  };
}

/** The places of the transfers that can have paid for it. */
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

/** What the log says of a sale, and what it promised of the goods. */
export interface PublicSale {
  name: string;
  listingId: number;
  via: string;
  units: bigint;
  txHash: string | null;
  /** A person let less than the price count. */
  isReviewed: boolean;
}

const SALES: readonly string[] = ['sale', 'world_sale'];

export function salesIn(events: readonly PublicEvent[]): PublicSale[] {
  const reviewed = new Set(events.flatMap(({ detail }) => (detail.outcome === 'deliver' ? [detail.payment_id] : [])));
  return events
    .filter(({ kind }) => SALES.includes(kind))
    .map(({ id, detail }) => ({
      name: `event ${id}, a sale of listing ${String(detail.listing_id)},`,
      listingId: Number(detail.listing_id),
      via: String(detail.verified_via),
      units: BigInt(unitsIn(detail, 'paid_usdc')),
      txHash: typeof detail.tx_hash === 'string' ? detail.tx_hash.toLowerCase() : null,
      isReviewed: detail.payment_id !== undefined && reviewed.has(detail.payment_id),
    }));
}

function unitsIn(detail: EventDetail, field: 'paid_usdc' | 'price_usdc'): string {
  const units = unitsOf(detail[field]);
  return units === '?' ? '-1' : units;
}

/** What can be said before the chain is asked. */
export function faultsOfTerms(sale: PublicSale, goods: Goods | null): string[] {
  const { name, via, units, txHash, isReviewed } = sale;
  if (goods === null) return [`${name} is of a listing that the market does not have`];
  const price = BigInt(goods.units);
  if (via === 'free')
    return units === 0n && price === 0n && txHash === null
      ? []
      : [`${name} was free, and the goods cost ${price} units`];
  if (txHash === null) return [`${name} names no transaction`];
  if (isReviewed || (via === 'x402' ? units === price : units >= price)) return [];
  return [`${name} was paid with ${units} units, and the goods cost ${price}`];
}

/** What the chain has to show for it; null: nothing. */
export function paymentOf({ name, via, units, txHash }: PublicSale, goods: Goods | null): Payment | null {
  if (goods === null || txHash === null || via === 'free') return null;
  return { name, txHash, to: goods.wallet, units, isAuthorized: via === 'x402', blockTime: null };
}

/** What the events promised of each listing. */
export function promisesIn(events: readonly PublicEvent[]): Map<number, PromisedGoods> {
  const promises = new Map<number, PromisedGoods>();
  for (const event of events) takePromise(promises, `event ${event.id}`, event);
  return promises;
}
