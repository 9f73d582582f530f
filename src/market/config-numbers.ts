import { z } from 'zod';
import { optional, type Variable } from '../platform/config.ts';

/** A whole number that has a least value as well as a greatest. */
export function wholeNumberFrom<Fallback extends number | null = number>(
  least: number,
  most: number,
  fallback: Fallback,
): Variable<number | Fallback> {
  const schema = z.string().transform((text, context) => {
    const value = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    context.addIssue({ code: 'invalid_format', format: 'regex' });
    return z.NEVER;
  });
  return optional<number | Fallback>(schema, `a whole number from ${least} to ${most}`, fallback);
}
