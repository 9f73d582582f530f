import { type ToldEvent, unitsOf } from './told.ts';

/** What the log promised of a listing, in lower case and units. Null: it does not say, as events from before it was told. */
export interface PromisedGoods {
  /** For people. */
  name: string;
  isPaid: boolean;
  units: string;
  wallet: string | null;
  commitment: string | null;
}

/** Unsold goods may be exchanged: then the edit says what is promised now. */
export function takePromise(
  promises: Map<number, PromisedGoods>,
  name: string,
  { kind, detail }: Pick<ToldEvent, 'kind' | 'detail'>,
): void {
  const listing = Number(detail.listing_id);
  const commitment = textIn(detail.artifact_commitment);
  if (kind === 'listing' || kind === 'maintainer_seed') {
    const isPaid = kind === 'listing';
    const wallet = textIn(detail.seller_wallet);
    promises.set(listing, { name, isPaid, units: unitsOf(detail.price_usdc), wallet, commitment });
  }
  const before = promises.get(listing);
  if (kind === 'listing_edit' && before !== undefined && commitment !== null)
    promises.set(listing, { ...before, commitment });
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value.toLowerCase() : null);

/** What a listing is, as the books or the market's public pages have it. */
export interface Goods {
  id: number;
  wallet: string;
  units: string;
  commitment: string | null;
}

/** The listing is still what was promised. */
export function faultsOfPromise(promised: PromisedGoods, goods: Goods): string[] {
  const name = `listing ${goods.id}`;
  const faults: string[] = [];
  if (promised.units !== goods.units)
    faults.push(`${name} costs ${goods.units} units, and ${promised.name} says ${promised.units}`);
  if (promised.wallet !== null && promised.wallet !== goods.wallet)
    faults.push(`${name} is paid to ${goods.wallet}, and ${promised.name} says ${promised.wallet}`);
  if (promised.commitment !== null && promised.commitment !== goods.commitment)
    faults.push(`${name} promises ${goods.commitment}, and the log says ${promised.commitment}`);
  return faults;
}
