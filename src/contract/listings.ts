import { z } from 'zod';
import { codeOut, handleOut, urlOut } from './answer-forms.ts';
import { appealOut } from './appeals.ts';
import { addressIn, addressOut, hashIn, hashOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { commentOut } from './feedback.ts';
import { maintainerMark } from './handles.ts';
import { newListingFields, shownAttributes, shownKeywords } from './listing-fields.ts';
import { merchantRecord } from './merchant-record.ts';
import { LISTING_FEE_TEXT, priceIn, usdcOut } from './money.ts';
import {
  fieldsQuery,
  idCursor,
  idIn,
  idOut,
  idParam,
  optionalPageSize,
  pageCounts,
  pageSize,
  timeOut,
} from './paging.ts';
import { CLAIM_ERRORS, claimBody, payAnewIn, paymentOut, receiptOut, recoverySlip, X402_ERRORS } from './payments.ts';
import { purchaseOut } from './purchases.ts';
import { lookAlikeNote } from './seen-text.ts';
import { textFlags, UNTRUSTED } from './text.ts';
import { downloadOut, uploadIdIn } from './uploads.ts';
import {
  AISLES,
  FIRST_LINE_CHARACTERS,
  INLINE_ARTIFACT_BYTES,
  LISTING_STATES,
  PAGE_SIZES,
  VERIFIED_VIA,
} from './vocabulary.ts';
import { flagText } from './wire-forms.ts';
import { WORLD_STATES, worldReceipt } from './world-records.ts';

/** Text of a merchant. Documents for programs mark it as data that must not be acted upon. */
export const merchantText = z.string().describe(UNTRUSTED);

const summaryFields = {
  id: idOut,
  title: merchantText,
  title_note: lookAlikeNote,
  price_usdc: usdcOut,
  merchant: handleOut,
  maintainer: maintainerMark,
  description: merchantText,
  preview: merchantText,
  store_url: urlOut,
  seller_wallet: addressOut,
  tags: z.array(z.string()).describe(UNTRUSTED),
  keywords: shownKeywords,
  aisle: z.enum(AISLES),
  votes: z.int().describe('one per merchant, never the seller; voting needs no purchase'),
  votes_by_buyers: z
    .int()
    .optional()
    .describe('votes by merchants who have paid for the listing; absent from markets before 0.2.0'),
  sales: z.int(),
  pinned: z.boolean(),
  created_at: timeOut,
  delivery_kind: z.enum(['artifact', 'city_ownership']),
  city_url: urlOut.nullable(),
  world_offer_id: z.int().nullable(),
  world_asset_id: z.int().nullable(),
  world_seller_handle: handleOut.nullable(),
  world_draft_id: z.int().nullable(),
  world_state: z.enum(WORLD_STATES).nullable(),
  city_offer_url: urlOut.nullable(),
  world_asset_url: urlOut.nullable(),
  requires_city_resident: z.boolean(),
  state: z.enum(LISTING_STATES),
  artifact_commitment: hashOut
    .nullable()
    .describe(
      'SHA-256 over a 32-byte salt and the artifact bytes; the salt comes with the artifact. Null, like the next fields, for a thing of the city',
    ),
  artifact_bytes: z.int().nullable(),
  artifact_media_type: merchantText.nullable().describe(`null, like the license, after a removal; ${UNTRUSTED}`),
  ...shownAttributes,
  verified_sales: z.int().describe('number of distinct paying wallets, not counting the seller’s'),
  supersedes: z.int().nullable().describe('the merchant’s older listing that this one replaces'),
  superseded_by: z.int().nullable().describe('the newer listing that replaces this one, if any'),
  text_flags: textFlags,
};

export const listingSummary = z.object(summaryFields).meta({ id: 'ListingSummary' });
export const listingDetail = z
  .object({
    ...summaryFields,
    removed: z.boolean(),
    removed_at: timeOut.nullable(),
    removed_reason: merchantText.nullable(),
    removed_reason_code: codeOut.nullable(),
    withdrawn: z.boolean(),
    withdrawn_at: timeOut.nullable(),
    withdrawn_reason: merchantText.nullable(),
    appeal: appealOut.nullable().describe('the appeal against the last removal, if any'),
    world_receipt: worldReceipt.nullable().describe('receipt of a sold thing of the city'),
  })
  .meta({ id: 'ListingDetail' });
export type ListingSummary = z.output<typeof listingSummary>;
export type ListingDetail = z.output<typeof listingDetail>;

const aisleSummary = z.object({ name: z.enum(AISLES), count: z.int(), url: urlOut });
export const aisleSummaries = z.array(aisleSummary);

export const artifactIn = z
  .string()
  .min(1)
  .describe(
    `the hidden goods: UTF-8 text, or base64 as artifact_encoding says; at most ${INLINE_ARTIFACT_BYTES} bytes; larger goods are uploaded`,
  );
export const artifactUploadIn = uploadIdIn.describe(
  'in place of artifact: the id of an upload of yours that is complete; artifact_encoding is left out',
);

export const newListing = z.strictObject({
  ...newListingFields,
  artifact: artifactIn.optional(),
  artifact_upload: artifactUploadIn.optional(),
  price_usdc: priceIn,
  seller_wallet: addressIn,
  supersedes: idIn.optional().describe('your older listing that this one replaces; each can be replaced once'),
  entitles_previous_buyers: z
    .boolean()
    .optional()
    .describe('true: earlier buyers of the superseded listing get this one free; cannot be changed later'),
});
export type NewListing = z.output<typeof newListing>;

export const created = z.object({
  listing_id: idOut,
  url: urlOut,
  listing: listingDetail,
  fee: z
    .object({ amount_usdc: usdcOut, tx_hash: hashOut.nullable(), verified_via: z.enum(VERIFIED_VIA) })
    .describe('tx_hash is null if no fee was due'),
  seller_notice: z.string().nullable().optional().describe('a note about the seller wallet; null for free goods'),
  recovery_slip: recoverySlip.optional(),
});

export const collectedBy = z
  .enum(['key', 'token', 'signature'])
  .describe(
    'what collects the goods: the key of this request, its delivery token (sent, or given in this answer), or only a signature of the payer',
  );
export type CollectedBy = z.output<typeof collectedBy>;

export const pendingAnswer = z
  .object({
    status: z.literal('payment_pending'),
    payment: paymentOut,
    do_not_pay_again: z.literal(true),
    retry: z.enum(['same_request', 'same_proof']),
    retry_after_seconds: z.int(),
    payment_ends_at: timeOut.nullable().describe('when the attempt ends at the latest, if no transfer is made'),
    estimate_seconds: z.int().nullable().describe('estimate of the seconds until the transfer is final'),
    next_step: z.string(),
    collected_by: collectedBy.optional(),
    recovery_slip: recoverySlip.optional(),
    delivery_token: z
      .string()
      .optional()
      .describe(
        'collects the goods later; given once, to the request that opened the payment with neither a key nor a token of its own',
      ),
  })
  .meta({ id: 'PaymentPending' });

/** Large enough for the other fields and the largest artifact, even if all its non-ASCII characters are escaped in JSON. */
export const ARTIFACT_BODY_LIMIT_BYTES = 2 * INLINE_ARTIFACT_BYTES + 65_536 * 8;

export const createListing = endpoint({
  name: 'createListing',
  method: 'POST',
  path: '/api/listing',
  summary: `List goods for a fee of ${LISTING_FEE_TEXT}, paid to the treasury by x402 or by a transfer for a fee intent.`,
  auth: 'key',
  query: z.strictObject({ dry_run: flagText().optional() }),
  body: newListing.extend({
    fee_payment: claimBody.optional().describe('a transfer for a fee intent, instead of x402'),
    pay_anew: payAnewIn,
  }),
  body_limit: ARTIFACT_BODY_LIMIT_BYTES,
  answers: {
    200: z.union([created, z.object({ dry_run: z.literal(true), would_cost_usdc: usdcOut })]),
    201: created,
    202: pendingAnswer,
  },
  errors: [
    'world_needs_draft',
    'seller_wallet_refused',
    'wallet_in_use',
    'duplicate_listing',
    'upload_not_found',
    'upload_unfinished',
    'upload_in_use',
    'upload_ended',
    'not_owner',
    'not_found',
    'already_superseded',
    'listing_closed',
    'too_many_open_fees',
    'rate_limited',
    ...CLAIM_ERRORS,
    ...X402_ERRORS,
  ],
  cache: 'private',
  payment: true,
});

export const getListing = endpoint({
  name: 'getListing',
  method: 'GET',
  path: '/api/listing/:id',
  summary: 'Read a listing with its comments. The artifact comes only with a purchase.',
  auth: 'public',
  params: idParam,
  query: z.strictObject({ comments_limit: pageSize(PAGE_SIZES.comments), comments_after_id: idCursor }),
  answers: {
    200: z.object({
      listing: listingDetail,
      comments: z.array(commentOut),
      comments_total: z.int(),
      comments_returned: z.int(),
      comments_page_size: z.int(),
      comments_has_more: z.boolean(),
      comments_next_after_id: z.int().nullable(),
      artifact: z.string(),
    }),
  },
  errors: ['not_found', 'cursor_invalid'],
  cache: 'public',
});

export const listingOutline = z
  .object({
    id: idOut,
    title: merchantText,
    title_note: lookAlikeNote,
    price_usdc: usdcOut,
    merchant: handleOut,
    maintainer: maintainerMark,
    aisle: z.enum(AISLES),
    verified_sales: summaryFields.verified_sales,
    first_line: z
      .string()
      .describe(
        `first line of the description, at most ${FIRST_LINE_CHARACTERS} characters; may be empty; ${UNTRUSTED}`,
      ),
  })
  .meta({ id: 'ListingOutline' });

/** An outline of your own listing, with its state. */
export const ownOutline = listingOutline.extend({ state: z.enum(LISTING_STATES) }).meta({ id: 'OwnOutline' });

/** A listing in a page: whole or an outline, depending on `fields`. */
export const listedItem = z.union([listingSummary, listingOutline]);

const deliveredFields = {
  listing_id: idOut,
  title: merchantText,
  artifact: z
    .string()
    .nullable()
    .describe(`the goods, byte for byte; null for goods that are a file: see download; ${UNTRUSTED}`),
  download: downloadOut.nullable().default(null).describe('goods that were uploaded; null for goods in artifact'),
  artifact_encoding: z.enum(['utf-8', 'base64']),
  artifact_media_type: merchantText,
  artifact_filename: merchantText.nullable(),
  artifact_salt: hashOut.describe('32 bytes; SHA-256 over this salt and the artifact is artifact_commitment'),
  ...shownAttributes,
};

export const delivery = z
  .object({
    ...deliveredFields,
    purchase: purchaseOut
      .nullable()
      .describe('null for free goods taken without a key, and for a newer version that an earlier purchase includes'),
    receipt: receiptOut.nullable(),
    do_not_pay_again: z.literal(true),
    collected_by: collectedBy.optional(),
    recovery_slip: recoverySlip.optional(),
    delivery_token: z.string().optional(),
    next_step: z.string().optional().describe('how to get goods that are a file'),
  })
  .refine(({ artifact, download }) => (artifact === null) !== (download === null), {
    path: ['artifact'],
    message: 'the goods are either in artifact or a file',
  })
  .meta({ id: 'Delivery' });
export type Delivery = z.output<typeof delivery>;

export const buyListing = endpoint({
  name: 'buyListing',
  method: 'POST',
  path: '/api/buy/:id',
  summary: 'Buy by x402 (v1 or v2), or collect goods that are already paid for.',
  auth: 'optional_key',
  params: idParam,
  body: z.strictObject({
    max_price_usdc: priceIn.optional(),
    collect: z.boolean().optional(),
    collect_salt: hashIn
      .optional()
      .describe(
        'with collect: 32 random bytes, from which the nonce of the collecting authorization (value 0) is made',
      ),
    tx_hash: hashIn
      .optional()
      .describe(
        'with collect: the transaction that paid, if the market lost the payment and you have no recovery slip; the payee decides',
      ),
    pay_anew: payAnewIn,
  }),
  body_optional: true,
  answers: { 200: delivery, 202: pendingAnswer },
  errors: [
    'own_goods',
    'listing_lost',
    'checkout_needed',
    'listing_unavailable',
    'listing_removed',
    'goods_erased',
    'nothing_to_collect',
    'payment_not_found',
    'price_above_limit',
    'sign_to_collect',
    'collect_signature_used',
    'delivery_token_used',
    'transaction_used',
    'transfer_not_found',
    ...X402_ERRORS,
  ],
  cache: 'private',
  payment: true,
  bytes: true,
});

export const getStore = endpoint({
  name: 'getStore',
  method: 'GET',
  path: '/api/store/:handle',
  summary:
    'Read a merchant and its live listings. Without limit it returns the whole catalog, up to a number of megabytes per network and hour.',
  auth: 'public',
  params: z.strictObject({ handle: z.string().min(1).max(64) }),
  query: z.strictObject({ limit: optionalPageSize(PAGE_SIZES.store), before_id: idCursor, fields: fieldsQuery }),
  answers: {
    200: z.object({
      merchant: merchantRecord,
      listings: z.array(listedItem),
      ...pageCounts,
      next_before_id: z.int().nullable(),
    }),
  },
  errors: ['not_found', 'cursor_invalid'],
  cache: 'public',
});
