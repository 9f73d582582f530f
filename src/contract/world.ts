import { z } from 'zod';
import { handleOut } from './answer-forms.ts';
import { addressIn } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { HANDLE_PATTERN } from './identity.ts';
import { keywordsIn, tagsIn } from './listing-fields.ts';
import { created, pendingAnswer } from './listings.ts';
import { merchantRecord } from './merchant-record.ts';
import { LISTING_FEE_TEXT, priceAboveZeroIn, usdcOut } from './money.ts';
import { idIn, idOut, idParam } from './paging.ts';
import { CLAIM_ERRORS, claimBody, payAnewIn, X402_ERRORS } from './payments.ts';
import { publicText } from './text.ts';
import { checkoutOut, draftOut, WORLD_STATES, worldReceipt } from './world-records.ts';

/**
 * A handle of the other site as typed. Trims spaces, tabs and line breaks but no invisible characters, drops a leading @ and converts to
 * lower case.
 */
export const foreignHandleIn = z
  .string()
  .max(200)
  .transform((text) =>
    text
      .replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')
      .replace(/^@/, '')
      .toLowerCase(),
  )
  .refine((handle) => new RegExp(HANDLE_PATTERN).test(handle), 'must be a handle, with or without @');

const listingIdParam = z.strictObject({ listing_id: idParam.shape.id });

export const linkCity = endpoint({
  name: 'linkCity',
  method: 'POST',
  path: '/api/city-link',
  summary: 'Link your store to a resident of the city; null removes the link. The resident must link back in the city.',
  auth: 'key',
  body: z.strictObject({ city_handle: foreignHandleIn.nullable() }),
  answers: { 200: z.object({ merchant: merchantRecord }) },
  errors: ['world_closed'],
  cache: 'private',
});

export const draftWorld = endpoint({
  name: 'draftWorld',
  method: 'POST',
  path: '/api/world/draft',
  summary: 'Draft the sale of a thing of the city, free of charge. The offer in the city names this draft.',
  auth: 'key',
  body: z.strictObject({
    title: publicText(3, 120),
    description: publicText(1, 4_000, { multiline: true }),
    preview: publicText(0, 4_000, { multiline: true }),
    price_usdc: priceAboveZeroIn,
    seller_wallet: addressIn,
    tags: tagsIn,
    keywords: keywordsIn,
    thing_id: idIn,
  }),
  answers: { 201: z.object({ draft: draftOut }) },
  errors: [
    'world_closed',
    'city_unavailable',
    'link_missing',
    'draft_pending',
    'seller_wallet_refused',
    'wallet_in_use',
    'payment_check_unavailable',
  ],
  cache: 'private',
});

export const getWorldDraft = endpoint({
  name: 'getWorldDraft',
  method: 'GET',
  path: '/api/world/draft/:id',
  summary: 'Read a draft, to compare it with the offer.',
  auth: 'audit',
  params: idParam,
  answers: { 200: z.object({ draft: draftOut }) },
  errors: ['not_found', 'listing_lost', 'world_closed'],
  cache: 'public',
});

export const cancelWorldDraft = endpoint({
  name: 'cancelWorldDraft',
  method: 'POST',
  path: '/api/world/draft/:id/cancel',
  summary: 'Cancel your draft, unless its fee is being paid.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({}),
  body_optional: true,
  answers: { 200: z.object({ draft: draftOut }) },
  errors: ['not_found', 'draft_closed', 'draft_fee_pending', 'world_closed'],
  cache: 'private',
});

export const listWorld = endpoint({
  name: 'listWorld',
  method: 'POST',
  path: '/api/world/listing',
  summary: `List a draft that matches its public offer in the city. You pay the fee of ${LISTING_FEE_TEXT} as for any listing.`,
  auth: 'key',
  body: z.strictObject({
    draft_id: idIn,
    city_offer_id: idIn,
    fee_payment: claimBody.optional().describe('a transfer for a fee intent, instead of x402'),
    pay_anew: payAnewIn,
  }),
  answers: { 200: created, 201: created, 202: pendingAnswer },
  errors: [
    'world_closed',
    'city_unavailable',
    'not_found',
    'listing_lost',
    'draft_closed',
    'draft_fee_pending',
    'offer_mismatch',
    'offer_not_open',
    'link_missing',
    'seller_wallet_refused',
    'wallet_in_use',
    'too_many_open_fees',
    ...CLAIM_ERRORS,
    ...X402_ERRORS,
  ],
  cache: 'private',
  payment: true,
});

export const checkoutWorld = endpoint({
  name: 'checkoutWorld',
  method: 'POST',
  path: '/api/world/checkout/:listing_id',
  summary: 'Let the named resident reserve the offer for you within ten minutes. This call itself reserves nothing.',
  auth: 'key',
  params: listingIdParam,
  body: z.strictObject({ city_handle: foreignHandleIn }),
  answers: { 200: z.object({ checkout: checkoutOut }), 201: z.object({ checkout: checkoutOut }) },
  errors: [
    'world_closed',
    'city_unavailable',
    'not_found',
    'not_world_listing',
    'listing_lost',
    'listing_unavailable',
    'link_missing',
    'own_goods',
    'offer_mismatch',
    'offer_not_open',
  ],
  cache: 'private',
});

export const getWorldCheckout = endpoint({
  name: 'getWorldCheckout',
  method: 'GET',
  path: '/api/world/checkout/:id',
  summary: 'Read a checkout: who buys what, and by which resident.',
  auth: 'audit',
  params: idParam,
  answers: { 200: z.object({ checkout: checkoutOut }) },
  errors: ['not_found', 'listing_lost', 'world_closed'],
  cache: 'public',
});

export const SYNC_STATUSES = [
  'listed',
  'reserved',
  'payment_pending',
  'payment_invalid',
  'payment_expired',
  'founder_review',
  'needs_review',
  'claimed',
  'completed',
  'canceled',
  'stale',
] as const;
export type SyncStatus = (typeof SYNC_STATUSES)[number];

/** The public part of a recorded sale. */
const worldSale = z.object({
  id: idOut,
  listing_id: idOut,
  market_buyer: handleOut,
  paid_usdc: usdcOut,
  world_receipt: worldReceipt,
});

export const syncWorld = endpoint({
  name: 'syncWorld',
  method: 'POST',
  path: '/api/world/sync/:listing_id',
  summary:
    'Check the offer, and record the sale once it is claimed and its transfer is final. Any merchant may call this, any number of times.',
  auth: 'key',
  params: listingIdParam,
  body: z.strictObject({}),
  body_optional: true,
  answers: {
    200: z.object({
      listing_id: idOut,
      status: z.enum(SYNC_STATUSES).describe('claimed: the city says so, but the transfer is not final yet'),
      world_state: z.enum(WORLD_STATES),
      purchase: worldSale.optional(),
      review_reason: z.string().optional().describe('with needs_review: how the final transfer breaks the terms'),
      next_step: z.string(),
      do_not_pay_again: z.boolean(),
      retry: z.enum(['same_request', 'never']),
      retry_after_seconds: z.int().optional(),
    }),
  },
  errors: ['world_closed', 'city_unavailable', 'not_found', 'listing_lost', 'not_world_listing', 'payment_preserved'],
  cache: 'private',
});
