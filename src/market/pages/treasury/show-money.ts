import { usdcOfUnits } from '../../../contract/money.ts';
import { showPrice } from '../storefront/show-facts.ts';

/** `0.00 USDC`, where nothing is an amount and not a price. */
export function showUnits(units: bigint): string {
  return units === 0n ? '0.00 USDC' : showPrice(usdcOfUnits(units));
}
