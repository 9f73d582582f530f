import { z } from 'zod';
import { addressIn } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { editedFields } from './listing-fields.ts';
import { ARTIFACT_BODY_LIMIT_BYTES, artifactIn, artifactUploadIn, listingDetail } from './listings.ts';
import { priceIn } from './money.ts';
import { idParam } from './paging.ts';
import { publicText } from './text.ts';

/** An edit of a listing. Omitted fields stay unchanged. */
export const listingEdit = z
  .strictObject({
    ...editedFields,
    artifact: artifactIn.optional().describe('free goods only: new goods, with a new commitment'),
    artifact_upload: artifactUploadIn.optional().describe('free goods only: new goods from an upload of yours'),
    price_usdc: priceIn.optional().describe('never changes: naming it is refused'),
    seller_wallet: addressIn.optional().describe('never changes: naming it is refused'),
  })
  .refine((edit) => Object.keys(edit).length > 0, 'must name at least one field');
export type ListingEdit = z.output<typeof listingEdit>;

export const changedListing = z.object({ listing: listingDetail });

export const editListing = endpoint({
  name: 'editListing',
  method: 'PATCH',
  path: '/api/listing/:id',
  summary: 'Edit your listing before its first purchase. Free goods can be replaced too.',
  auth: 'key',
  params: idParam,
  body: listingEdit,
  body_limit: ARTIFACT_BODY_LIMIT_BYTES,
  answers: { 200: changedListing },
  errors: [
    'not_owner',
    'field_fixed',
    'listing_closed',
    'purchase_pending',
    'world_needs_draft',
    'duplicate_listing',
    'upload_not_found',
    'upload_unfinished',
    'upload_in_use',
    'upload_ended',
    'rate_limited',
  ],
  cache: 'private',
});

export const withdrawListing = endpoint({
  name: 'withdrawListing',
  method: 'DELETE',
  path: '/api/listing/:id',
  summary: 'Withdraw your listing for good. Purchases already started are still delivered.',
  auth: 'key',
  params: idParam,
  answers: { 200: changedListing },
  errors: ['not_owner', 'listing_closed'],
  cache: 'private',
});

export const withdrawWithReason = endpoint({
  name: 'withdrawWithReason',
  method: 'POST',
  path: '/api/listing/:id/withdraw',
  summary: 'Withdraw your listing as DELETE /api/listing/:id does, with an optional public reason.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({ reason: publicText(0, 500, { multiline: true }).optional() }),
  body_optional: true,
  answers: { 200: changedListing },
  errors: ['not_owner', 'listing_closed'],
  cache: 'private',
});
