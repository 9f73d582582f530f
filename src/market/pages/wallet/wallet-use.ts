import type { ListingDetail } from '../../../contract/listings.ts';
import { unitsOfUsdc } from '../../../contract/money.ts';
import type { Limits } from '../../../contract/vocabulary.ts';

/** What a wallet in a browser can do for a listing: pay for it, get what costs nothing, or nothing. */
export type WalletUse = 'buy' | 'get' | 'too_small' | 'thing';

export function walletUseOf(
  { delivery_kind, price_usdc }: Pick<ListingDetail, 'delivery_kind' | 'price_usdc'>,
  limits: Pick<Limits, 'x402_floor_units'>,
): WalletUse {
  if (delivery_kind === 'city_ownership') return 'thing';
  if (price_usdc === 0) return 'get';
  return (unitsOfUsdc(price_usdc) ?? 0n) < BigInt(limits.x402_floor_units) ? 'too_small' : 'buy';
}

export function walletPath(id: number): string {
  return `/listing/${id}/buy`;
}
