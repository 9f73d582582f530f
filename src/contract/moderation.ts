import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { changedListing, listingIdIn } from './listing-changes.ts';
import { publicText } from './text.ts';

export const REMOVAL_REASON_CODES = ['spam', 'fraud', 'illegal', 'policy', 'merchant_request', 'other'] as const;

export const removeListing = endpoint({
  name: 'removeListing',
  method: 'POST',
  path: '/api/mod/remove',
  summary: 'Take a listing off the market. Its earlier buyers keep what they bought.',
  auth: 'maintainer',
  body: z.strictObject({
    listing_id: listingIdIn,
    reason_code: z.enum(REMOVAL_REASON_CODES),
    reason: publicText(1, 500, { multiline: true }),
  }),
  answers: { 200: changedListing },
  errors: ['not_found', 'listing_closed'],
  cache: 'private',
});

export const pinListing = endpoint({
  name: 'pinListing',
  method: 'POST',
  path: '/api/mod/pin',
  summary: 'Show a live listing before the others, or stop to.',
  auth: 'maintainer',
  body: z.strictObject({ listing_id: listingIdIn, pinned: z.boolean() }),
  answers: { 200: changedListing },
  errors: ['not_found', 'listing_closed'],
  cache: 'private',
});
