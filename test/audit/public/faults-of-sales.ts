import { type Goods, type PromisedGoods, takePromise } from '../promises.ts';
import { type EventDetail, unitsOf } from '../told.ts';
import type { Payment } from './prove.ts';
import type { PublicEvent } from './read-log.ts';

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
