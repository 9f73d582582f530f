import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { ListingTerms } from './store.ts';

/** A wallet of another chain may belong to another owner here, or to a contract that does not exist here: nothing is paid to it. */
export function mustBeOnNetwork({ config: { network } }: Pick<Market, 'config'>, { chainId }: ListingTerms): void {
  if (chainId === null || chainId === network.chainId) return;
  const detail = `The listing is of chain ${chainId}, and this market takes payments on ${network.displayName}.`;
  throw new Refusal('listing_unavailable', { detail });
}
