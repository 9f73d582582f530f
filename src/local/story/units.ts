import { unitsOfUsdc } from '../../contract/money.ts';

export function unitsOf(usdc: number): bigint {
  const units = unitsOfUsdc(usdc);
  if (units === null) throw new TypeError('an amount of USDC has at most 6 decimals');
  return units;
}
