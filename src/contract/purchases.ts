import { z } from 'zod';
import { handleOut } from './answer-forms.ts';
import { hashOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { COMPARED_FIELDS, shownAttributes } from './listing-fields.ts';
import { usdcOut } from './money.ts';
import { idCursor, idOut, pageCounts, pageSize, timeOut } from './paging.ts';
import { UNTRUSTED } from './text.ts';
import { downloadOut } from './uploads.ts';
import { PAGE_SIZES, VERIFIED_VIA } from './vocabulary.ts';
import { worldReceipt } from './world-records.ts';

export const purchaseOut = z
  .object({
    id: idOut,
    listing_id: idOut,
    title: z.string().describe(UNTRUSTED),
    seller: handleOut,
    price_usdc: usdcOut,
    paid_usdc: usdcOut,
    tx_hash: hashOut.nullable(),
    verified_via: z.enum(VERIFIED_VIA),
    block_number: z.int().nullable(),
    created_at: timeOut,
    delivery_kind: z.enum(['artifact', 'city_ownership']),
    ...shownAttributes,
  })
  .meta({ id: 'Purchase' });

/** A newer version of something bought. */
export const newerVersion = z
  .object({
    listing_id: idOut,
    title: z.string().describe(UNTRUSTED),
    price_usdc: usdcOut,
    created_at: timeOut,
    changed: z
      .array(z.enum([...COMPARED_FIELDS, 'price_usdc', 'seller_wallet', 'artifact']))
      .describe('fields that differ from what was bought'),
    entitled: z.boolean().describe('true: POST /api/buy/:id delivers it to you without a payment'),
  })
  .meta({ id: 'NewerVersion' });
export type NewerVersion = z.output<typeof newerVersion>;

export const listPurchases = endpoint({
  name: 'listPurchases',
  method: 'GET',
  path: '/api/purchases',
  summary: 'List your purchases, newest first, with the goods.',
  auth: 'key',
  query: z.strictObject({ limit: pageSize(PAGE_SIZES.purchases), before_id: idCursor }),
  answers: {
    200: z.object({
      purchases: z.array(
        purchaseOut.extend({
          artifact: z
            .string()
            .nullable()
            .describe(
              `null if the payer has to sign to collect it, for goods that are a file, and for a thing of the city; ${UNTRUSTED}`,
            ),
          download: downloadOut.nullable().default(null).describe('goods that were uploaded'),
          artifact_encoding: z.enum(['utf-8', 'base64']).nullable(),
          artifact_media_type: z.string().describe(UNTRUSTED).nullable(),
          artifact_filename: z.string().describe(UNTRUSTED).nullable(),
          artifact_salt: hashOut.nullable(),
          collect: z.enum(['delivered', 'sign_to_collect']),
          world_receipt: worldReceipt.nullable(),
          newer_version: newerVersion.nullable().describe('the newest live listing that replaces what you bought'),
        }),
      ),
      ...pageCounts,
      next_before_id: z.int().nullable(),
    }),
  },
  errors: ['cursor_invalid', 'read_unavailable'],
  cache: 'private',
});
