import type { EventDetail } from '../told.ts';
import { unitsOf } from '../told.ts';
import type { Payment } from './prove.ts';
import type { PublicGoods } from './read-goods.ts';
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
export function faultsOfTerms(sale: PublicSale, goods: PublicGoods | null): string[] {
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
export function paymentOf({ name, via, units, txHash }: PublicSale, goods: PublicGoods | null): Payment | null {
  if (goods === null || txHash === null || via === 'free') return null;
  return { name, txHash, to: goods.wallet, units, isAuthorized: via === 'x402', blockTime: null };
}

/** What the events of a listing promised: the newest word counts, since an edit may exchange goods that nobody has. */
export function promisesIn(events: readonly PublicEvent[]): Map<number, PromisedGoods> {
  const promises = new Map<number, PromisedGoods>();
  for (const { id, kind, detail } of events) {
    const listing = Number(detail.listing_id);
    if (kind === 'listing' || kind === 'maintainer_seed') {
      promises.set(listing, {
        event: id,
        isPaid: kind === 'listing',
        units: unitsOf(detail.price_usdc),
        wallet: textIn(detail.seller_wallet),
        commitment: textIn(detail.artifact_commitment),
      });
    }
    const before = promises.get(listing);
    const exchanged = textIn(detail.artifact_commitment);
    if (kind === 'listing_edit' && before !== undefined && exchanged !== null)
      promises.set(listing, { ...before, commitment: exchanged });
  }
  return promises;
}

export interface PromisedGoods {
  event: number;
  isPaid: boolean;
  units: string;
  /** Null: the event does not say, as those from before this was in the log. */
  wallet: string | null;
  commitment: string | null;
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value.toLowerCase() : null);

/** The listing is still what its event promised. */
export function faultsOfPromise(promised: PromisedGoods, goods: PublicGoods): string[] {
  const name = `listing ${goods.id}`;
  const faults: string[] = [];
  if (promised.units !== goods.units)
    faults.push(`${name} costs ${goods.units} units, and event ${promised.event} says ${promised.units}`);
  if (promised.wallet !== null && promised.wallet !== goods.wallet)
    faults.push(`${name} is paid to ${goods.wallet}, and event ${promised.event} says ${promised.wallet}`);
  if (promised.commitment !== null && promised.commitment !== goods.commitment)
    faults.push(`${name} promises ${goods.commitment}, and the log says ${promised.commitment}`);
  return faults;
}
