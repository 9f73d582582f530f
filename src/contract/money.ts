import { z } from 'zod';
import { type OwnWords, own } from './own-words.ts';
import { LISTING_FEE_UNITS, MAX_PRICE_UNITS, UNITS_PER_USDC, USDC_DECIMALS } from './vocabulary.ts';

const PLAIN = /^(?:0|[1-9]\d*)(?:\.(\d+))?$/;

/**
 * Converts USDC as a JSON number to units (1 USDC = 1,000,000). Never rounds: returns null if the amount is negative, above 10^9, not
 * finite or has more than six decimals. The market's JSON reader has already refused exponents, signs and longer fractions.
 */
export function unitsOfUsdc(amount: number): bigint | null {
  if (!Number.isFinite(amount) || amount < 0 || Object.is(amount, -0) || amount > 1e9) return null;
  const text = amount < 1e-6 && amount !== 0 ? '' : toPlainText(amount);
  const match = PLAIN.exec(text);
  if (!match) return null;
  const [whole = '0', fraction = ''] = text.split('.');
  if (fraction.length > USDC_DECIMALS) return null;
  return BigInt(whole) * UNITS_PER_USDC + BigInt(fraction.padEnd(USDC_DECIMALS, '0'));
}

// Writes a number without an exponent. Returns '' if it would have one and has more than six decimals.
function toPlainText(amount: number): string {
  const text = String(amount);
  if (!text.includes('e')) return text;
  const fixed = amount.toFixed(USDC_DECIMALS);
  return Number(fixed) === amount ? fixed.replace(/0+$/, '').replace(/\.$/, '') : '';
}

/** Converts units to a JSON number. Exact below 10^9 USDC, where a double distinguishes six decimals. */
export function usdcOfUnits(units: bigint): number {
  const whole = units / UNITS_PER_USDC;
  const fraction = units % UNITS_PER_USDC;
  return Number(`${whole}.${fraction.toString().padStart(USDC_DECIMALS, '0')}`);
}

/** Formats an amount for a sentence: `1 USDC`, `0.5 USDC`. */
export function formatUsdc(units: bigint): OwnWords {
  return own`${usdcOfUnits(units)} USDC`;
}

export const LISTING_FEE_TEXT = formatUsdc(LISTING_FEE_UNITS);

/** Formats units as USDC with six decimals. */
export function usdcText(units: bigint): string {
  return `${units / UNITS_PER_USDC}.${(units % UNITS_PER_USDC).toString().padStart(USDC_DECIMALS, '0')}`;
}

/** A price in a request: USDC with at most six decimals, converted to units. */
export const priceIn = z
  .number()
  .min(0)
  .max(Number(MAX_PRICE_UNITS / UNITS_PER_USDC))
  .transform((amount, context) => {
    const units = unitsOfUsdc(amount);
    if (units === null) {
      context.addIssue({ code: 'custom', message: 'must be a plain number with at most 6 decimals' });
      return z.NEVER;
    }
    return units;
  });

/** A price that a transfer must prove, so it is above 0. */
export const priceAboveZeroIn = priceIn.refine((units) => units > 0n, 'must be above 0');

export const usdcOut = z.number().min(0).meta({ description: 'USDC with at most 6 decimals' });
