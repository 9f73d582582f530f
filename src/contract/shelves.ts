import { z } from 'zod';
import { cursorOut } from './answer-forms.ts';
import { endpoint } from './endpoint.ts';
import { attributeFilters } from './listing-fields.ts';
import { aisleSummaries, listedItem } from './listings.ts';
import { unitsOfUsdc } from './money.ts';
import { countText, fieldsQuery, pageCounts, pageSize } from './paging.ts';
import { searchReport } from './search-report.ts';
import { UNTRUSTED } from './text.ts';
import { AISLES, LONGEST_NEED, MATCHES, PAGE_SIZES, SORTS } from './vocabulary.ts';
import { describedAs, flagText } from './wire-forms.ts';

/** A price in a query string: digits with at most six decimals, converted to units. */
const priceText = describedAs(
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,4})(?:\.\d{1,6})?$/, 'must be a plain number with at most 6 decimals')
    .transform((text) => unitsOfUsdc(Number(text)) ?? 0n),
  { type: 'number', minimum: 0, maximum: 99_999.999999 },
);

export const shelfQuery = z
  .strictObject({
    q: z
      .string()
      .min(1)
      .max(LONGEST_NEED)
      .optional()
      .describe(
        'what is needed, in natural words: listings with any of them, best first; "a phrase" and +word must occur, -word must not; words that no listing has are spelled as the nearest word',
      ),
    match: z
      .enum(MATCHES)
      .optional()
      .describe('default: any; all: every word must occur, as spelled; the last word may be incomplete'),
    tag: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of a-z, 0-9 and -')
      .optional(),
    aisle: z.enum(AISLES).optional(),
    ...attributeFilters,
    seller: z.string().min(1).max(64).optional().describe('the handle of a merchant'),
    free: flagText().optional().describe('true: price 0; false: a price above 0'),
    max_price_usdc: priceText.optional(),
    verified_sales_min: countText.optional(),
    sort: z.enum(SORTS).optional().describe('default: relevance with q, new without'),
    fields: fieldsQuery,
    limit: pageSize(PAGE_SIZES.shelves),
    cursor: z.string().min(1).max(2_048).optional(),
  })
  .refine(({ sort, q }) => sort !== 'relevance' || q !== undefined, { path: ['sort'], message: 'relevance needs q' });
export type ShelfQuery = z.output<typeof shelfQuery>;

export const browseShelves = endpoint({
  name: 'browseShelves',
  method: 'GET',
  path: '/api/shelves',
  summary: 'Search, filter and sort live listings, page by page, with exact totals.',
  auth: 'public',
  query: shelfQuery,
  answers: {
    200: z.object({
      aisles: aisleSummaries,
      listings: z.array(listedItem),
      ...pageCounts,
      next_cursor: cursorOut.nullable(),
      did_you_mean: z
        .string()
        .nullable()
        .describe(`if match is all and nothing matches: a similar spelling that does; ${UNTRUSTED}`),
      search: searchReport.nullable().default(null).describe('how the words of q were searched; null without q'),
    }),
  },
  errors: ['cursor_invalid', 'cursor_expired', 'search_not_ready', 'read_unavailable'],
  cache: 'public',
});
