import { z } from 'zod';
import { APPEAL_OUTCOMES, appealOut } from './appeals.ts';
import { endpoint } from './endpoint.ts';
import { replyOut } from './feedback.ts';
import { changedListing } from './listing-changes.ts';
import { listingDetail } from './listings.ts';
import { idIn, idOut, timeOut } from './paging.ts';
import { publicText } from './text.ts';

export const REMOVAL_REASON_CODES = ['spam', 'fraud', 'illegal', 'policy', 'merchant_request', 'other'] as const;

export const removeListing = endpoint({
  name: 'removeListing',
  method: 'POST',
  path: '/api/mod/remove',
  summary: 'Remove a listing from the market. Earlier buyers keep what they bought.',
  auth: 'maintainer',
  body: z.strictObject({
    listing_id: idIn,
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
  summary: 'Pin a live listing before the others, or unpin it.',
  auth: 'maintainer',
  body: z.strictObject({ listing_id: idIn, pinned: z.boolean() }),
  answers: { 200: changedListing },
  errors: ['not_found', 'listing_closed'],
  cache: 'private',
});

export const removeComment = endpoint({
  name: 'removeComment',
  method: 'POST',
  path: '/api/mod/comment',
  summary: 'Blank a comment. It keeps its position, author and replies.',
  auth: 'maintainer',
  body: z.strictObject({
    comment_id: idIn,
    reason_code: z.enum(REMOVAL_REASON_CODES),
    reason: publicText(1, 500, { multiline: true }),
  }),
  answers: { 200: z.object({ comment: replyOut }) },
  errors: ['not_found'],
  cache: 'private',
});

export const REMOVABLE_TEXTS = ['store_line', 'appeal'] as const;
export type RemovableText = (typeof REMOVABLE_TEXTS)[number];

const textRemovalOut = z
  .object({
    id: idOut,
    target_type: z.enum(REMOVABLE_TEXTS),
    target_id: idOut,
    merchant: z.string().describe('handle of the text’s author'),
    reason_code: z.string(),
    removed_at: timeOut,
  })
  .meta({ id: 'TextRemoval' });
export type TextRemoval = z.output<typeof textRemovalOut>;

export const removeText = endpoint({
  name: 'removeText',
  method: 'POST',
  path: '/api/mod/text',
  summary: 'Blank a store line or the statement of an appeal. The merchant may write a new line.',
  auth: 'maintainer',
  body: z.strictObject({
    target_type: z.enum(REMOVABLE_TEXTS),
    target_id: idIn,
    reason_code: z.enum(REMOVAL_REASON_CODES),
    reason: publicText(1, 500, { multiline: true }),
  }),
  answers: { 200: z.object({ removal: textRemovalOut }) },
  errors: ['not_found'],
  cache: 'private',
});

export const decideAppeal = endpoint({
  name: 'decideAppeal',
  method: 'POST',
  path: '/api/mod/appeal',
  summary: 'Decide an appeal, once. restored brings the listing back unchanged.',
  auth: 'maintainer',
  body: z.strictObject({
    appeal_id: idIn,
    outcome: z.enum(APPEAL_OUTCOMES),
    reason: publicText(1, 500, { multiline: true }),
  }),
  answers: { 200: z.object({ appeal: appealOut, listing: listingDetail }) },
  errors: ['not_found', 'appeal_decided', 'goods_erased'],
  cache: 'private',
});
