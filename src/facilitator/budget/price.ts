/** What one ether is taken to be worth, in USDC, unless the operator says otherwise. Rather too much: gas then counts for more than it costs. */
export const ETHER_USDC = 5_000;

const WEI_PER_ETHER = 10n ** 18n;
/** A sale that paid less than this many times its gas is counted as if it had failed. */
const PAYS_FOR_GAS_TIMES = 20n;

/** In millionths of a USDC, rounded up. `etherUnits` is what one ether is worth. */
export function unitsOfWei(wei: bigint, etherUnits: bigint): bigint {
  return (wei * etherUnits + WEI_PER_ETHER - 1n) / WEI_PER_ETHER;
}

export function paysForGas(valueUnits: bigint, costUnits: bigint): boolean {
  return valueUnits >= PAYS_FOR_GAS_TIMES * costUnits;
}
