import { z } from 'zod';
import { codeOut, handleOut, urlOut } from './answer-forms.ts';
import { removalNotice } from './appeals.ts';
import { addressOut, hashOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { flagOut, replyOut } from './feedback.ts';
import { aisleSummaries, listedItem, listingDetail, ownOutline } from './listings.ts';
import { merchantRecord } from './merchant-record.ts';
import { usdcOut } from './money.ts';
import { fieldsQuery, idCursor, idOut, pageCounts, pageSize, timeOut } from './paging.ts';
import { purchaseOut } from './purchases.ts';
import { isInvisible } from './seen-text.ts';
import { publicText, UNTRUSTED } from './text.ts';
import { EVENT_KINDS, PAGE_SIZES, PAYMENT_PURPOSES, SCOPES } from './vocabulary.ts';

export const listMerchants = endpoint({
  name: 'listMerchants',
  method: 'GET',
  path: '/api/merchants',
  summary: 'List all merchants, oldest first.',
  auth: 'public',
  query: z.strictObject({ limit: pageSize(PAGE_SIZES.merchants), after_id: idCursor }),
  answers: {
    200: z.object({ merchants: z.array(merchantRecord), ...pageCounts, next_after_id: z.int().nullable() }),
  },
  errors: ['cursor_invalid'],
  cache: 'public',
});

type Section<Name extends string, Item extends z.ZodType> = Record<Name, z.ZodArray<Item>> &
  Record<`${Name}_total` | `${Name}_returned` | `${Name}_page_size`, z.ZodInt> &
  Record<`${Name}_has_more`, z.ZodBoolean> &
  Record<`${Name}_next_before_id`, z.ZodNullable<z.ZodInt>>;

// The compiler cannot infer names built at run time, so their type is spelled out.
const section = <Name extends string, Item extends z.ZodType>(name: Name, item: Item) =>
  ({
    [name]: z.array(item),
    [`${name}_total`]: z.int(),
    [`${name}_returned`]: z.int(),
    [`${name}_page_size`]: z.int(),
    [`${name}_has_more`]: z.boolean(),
    [`${name}_next_before_id`]: z.int().nullable(),
  }) as Section<Name, Item>;

/** A sale as its seller sees it. All it shows of the buyer is the handle, which is public in the log. */
export const saleOut = z
  .object({
    id: idOut,
    listing_id: idOut,
    title: z.string().describe(UNTRUSTED),
    buyer: handleOut.nullable().describe('null for a wallet without an account'),
    paid_usdc: usdcOut,
    tx_hash: hashOut.nullable(),
    verified_via: codeOut,
    created_at: timeOut,
  })
  .meta({ id: 'Sale' });

/** Another transfer from a review's payer to its payee that has not paid for anything yet. */
const furtherTransferOut = z.object({
  tx_hash: hashOut,
  amount_usdc: usdcOut.nullable().describe('null while it is not final'),
  block_number: z.int().nullable().describe('null until it is seen on the chain'),
  claimed: z
    .boolean()
    .describe(
      'true: the payer claimed it for the same purchase or fee, so it pays for nothing else meanwhile; after deliver it becomes a review of its own. false: it may still pay for other goods of the payee',
    ),
});

/** A payment that awaits a decision by POST /api/review/:payment_id. */
export const reviewOut = z
  .object({
    payment_id: idOut,
    purpose: z.enum(PAYMENT_PURPOSES),
    listing_id: z.int().nullable(),
    reason: codeOut,
    payer_wallet: addressOut.describe('send a refund to this wallet'),
    payee_wallet: addressOut.describe('send a refund from this wallet'),
    asked_usdc: usdcOut,
    received_usdc: usdcOut,
    tx_hash: hashOut.nullable(),
    block_time: timeOut.nullable(),
    decide_by: timeOut.describe('without a decision by then, the payment counts as declined'),
    further_transfers: z
      .array(furtherTransferOut)
      .optional()
      .describe(
        'other transfers from this payer to this payee: those claimed meanwhile, and those made within the time of the intent, which may be meant for other goods. They are never added up',
      ),
    unproven: z
      .object({
        merchant: handleOut.describe('handle of the merchant who claims it'),
        warning: z.string(),
        exact_amount: z
          .boolean()
          .nullable()
          .describe('whether the transfer matches exact_amount_units of its intent; null: the intent has none'),
        same_transaction: z
          .array(idOut)
          .describe('other claims of the same transfer; at most one of them can be right'),
      })
      .optional()
      .describe('only with payer_unproven: the wallet did not sign'),
  })
  .meta({ id: 'Review' });

export type Review = z.output<typeof reviewOut>;

/** Codes made with the key alone become valid at `valid_at`. A merchant who did not make them cancels them by using an old code first. */
export const pendingCodes = z.object({ valid_at: timeOut }).meta({ id: 'PendingCodes' });

export const getMe = endpoint({
  name: 'getMe',
  method: 'GET',
  path: '/api/me',
  summary: 'Read your own record: listings, sales, purchases, replies, reviews and quotas.',
  auth: 'key',
  query: z.strictObject({
    listings_limit: pageSize(PAGE_SIZES.me_listings),
    listings_before_id: idCursor,
    sales_limit: pageSize(PAGE_SIZES.me_sales),
    sales_before_id: idCursor,
    purchases_limit: pageSize(PAGE_SIZES.me_purchases),
    purchases_before_id: idCursor,
    replies_limit: pageSize(PAGE_SIZES.me_replies),
    replies_before_id: idCursor,
    fields: fieldsQuery.describe(
      'outline: short listings with their state, first lines of texts, and the first few reviews, removal_notices and flags; full: everything',
    ),
  }),
  answers: {
    200: z.object({
      handle: handleOut.optional().describe('your handle; absent from markets before 0.2.0'),
      merchant: merchantRecord,
      credits: z.int().describe('paid listing fees that no listing has used yet'),
      reviews: z.array(reviewOut).describe('payments that await your decision, oldest first'),
      removal_notices: z.array(removalNotice).describe('your listings that the maintainer removed, newest first'),
      flags: z.array(flagOut).describe('for the maintainer: the newest flags; empty for others'),
      quotas: z.record(codeOut, z.object({ limit: z.int(), used: z.int(), resets_at: timeOut })),
      pending_codes: pendingCodes.nullable(),
      left_out: z
        .object({ reviews: z.int(), removal_notices: z.int(), flags: z.int() })
        .optional()
        .describe('with fields=outline: how many more there are'),
      ...section('listings', z.union([listingDetail, ownOutline])),
      ...section('sales', saleOut),
      ...section('purchases', purchaseOut),
      ...section('replies', replyOut),
    }),
  },
  errors: ['cursor_invalid', 'read_unavailable'],
  cache: 'private',
});

export const eventOut = z
  .object({
    id: idOut,
    at: timeOut,
    kind: z.enum(EVENT_KINDS),
    actor: z.string().describe('a handle, or system; maintainer.handle of official facts names the maintainer’s'),
    detail: z
      .record(z.string(), z.unknown())
      .describe('ids and facts; in a sale, actor is the buyer and merchant_id the seller'),
  })
  .meta({ id: 'Event' });

export const listEvents = endpoint({
  name: 'listEvents',
  method: 'GET',
  path: '/api/events',
  summary: 'Read the public log, newest first. It only grows, and its ids have no gaps.',
  auth: 'audit',
  query: z
    .strictObject({
      limit: pageSize(PAGE_SIZES.events),
      kind: z.enum(EVENT_KINDS).optional(),
      scope: z.enum(SCOPES).optional(),
      listing_id: idCursor.describe('only events about this listing'),
      before_id: idCursor,
    })
    .refine(
      ({ kind, scope, listing_id }) => [kind, scope, listing_id].filter((filter) => filter !== undefined).length <= 1,
      'give only one of kind, scope and listing_id',
    ),
  answers: { 200: z.object({ events: z.array(eventOut), ...pageCounts, next_before_id: z.int().nullable() }) },
  errors: ['cursor_invalid'],
  cache: 'public',
});

const windowSection = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), ...pageCounts, more_url: urlOut.nullable() });

const windowQuery = z.strictObject({
  events_limit: pageSize(PAGE_SIZES.window_events),
  listings_limit: pageSize(PAGE_SIZES.window_listings),
  merchants_limit: pageSize(PAGE_SIZES.window_merchants),
  fields: fieldsQuery,
});
export type WindowQuery = z.output<typeof windowQuery>;

export const getWindow = endpoint({
  name: 'getWindow',
  method: 'GET',
  path: '/api/window',
  summary: 'Read recent activity on the market, in one snapshot.',
  auth: 'audit',
  query: windowQuery,
  answers: {
    200: z.object({
      events: windowSection(eventOut),
      listings: windowSection(listedItem),
      merchants: windowSection(merchantRecord),
      aisles: z.object({ items: aisleSummaries, ...pageCounts, more_url: urlOut.nullable() }),
    }),
  },
  errors: [],
  cache: 'public',
});

export const setStoreLine = endpoint({
  name: 'setStoreLine',
  method: 'POST',
  path: '/api/store',
  summary: 'Set the line that describes your store; empty removes it.',
  auth: 'key',
  body: z.strictObject({
    line: publicText(0, 160).refine((line) => line === '' || !isInvisible(line), 'must not be blank'),
  }),
  answers: { 200: z.object({ merchant: merchantRecord }) },
  errors: [],
  cache: 'private',
});
