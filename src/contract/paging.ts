import { z } from 'zod';
import { describedAs } from './wire-forms.ts';

/** A positive integer in a URL: digits only, without sign, padding or fraction. */
const wholeText = z.string().regex(/^[1-9]\d{0,15}$/, 'must be a whole number, 1 or more');

function sizeUpTo(max: number) {
  const size = wholeText.transform(Number).refine((size) => size <= max, `must be 1 to ${max}`);
  return describedAs(size, sizeForm(max));
}

const sizeForm = (max: number) => ({ type: 'integer', minimum: 1, maximum: max });

function idText() {
  return describedAs(wholeText.transform(BigInt), { type: 'integer', minimum: 1 });
}

/** A page size from 1 to max, which is also the default. Other values are refused, not clamped. */
export function pageSize(max: number) {
  return describedAs(sizeUpTo(max).default(max), { ...sizeForm(max), default: max });
}

/** A page size without a default, for endpoints on which omitting it has another meaning. */
export function optionalPageSize(max: number) {
  return sizeUpTo(max).optional();
}

/** A cursor that is the id of a row. */
export const idCursor = idText().optional();

export const idParam = z.strictObject({ id: idText() });

/** An id in a body, as a JSON number. */
export const idIn = z.int().positive().transform(BigInt);

export const idOut = z.int().positive();
export const timeOut = z.iso.datetime({ precision: 3 });

export const pageCounts = {
  total: z.int().nonnegative(),
  returned: z.int().nonnegative(),
  page_size: z.int().nonnegative(),
  has_more: z.boolean(),
};

export const fieldsQuery = describedAs(z.enum(['full', 'outline']), {
  ...{ type: 'string', enum: ['full', 'outline'] },
  default: 'full',
})
  .optional()
  .describe(
    'outline: only id, title, price_usdc, merchant, aisle, verified_sales and first_line of each listing; full: everything',
  );

/** A count in a query string. */
export const countText = describedAs(
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,8})$/, 'must be a plain whole number')
    .transform(Number),
  { type: 'integer', minimum: 0, maximum: 999_999_999 },
);
