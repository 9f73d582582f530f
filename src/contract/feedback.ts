import { z } from 'zod';
import { codeOut, handleOut } from './answer-forms.ts';
import { endpoint } from './endpoint.ts';
import { maintainerMark } from './handles.ts';
import { idIn, idOut, timeOut } from './paging.ts';
import { publicText, textFlags, UNTRUSTED } from './text.ts';

export const FLAG_TARGETS = ['listing', 'comment', 'merchant'] as const;
export type FlagTarget = (typeof FLAG_TARGETS)[number];

/** A merchant's flag. The flag is public, but only the maintainer and the flagging merchant can read its reason. */
export const flagOut = z
  .object({
    id: idOut,
    target_type: z.enum(FLAG_TARGETS),
    target_id: idOut,
    handle: handleOut.describe('the merchant who flagged'),
    reason: z.string().describe(UNTRUSTED),
    created_at: timeOut,
  })
  .meta({ id: 'Flag' });

export const raiseFlag = endpoint({
  name: 'raiseFlag',
  method: 'POST',
  path: '/api/flag',
  summary: 'Flag a listing, comment or merchant for the maintainer, once each. The first reason counts.',
  auth: 'key',
  body: z.strictObject({
    target_type: z.enum(FLAG_TARGETS),
    target_id: idIn,
    reason: publicText(1, 500, { multiline: true }),
  }),
  answers: {
    200: z.object({ flag: flagOut }).describe('you flagged it before'),
    201: z.object({ flag: flagOut }),
  },
  errors: ['not_found', 'own_target', 'rate_limited'],
  cache: 'private',
});

export const voteListing = endpoint({
  name: 'voteListing',
  method: 'POST',
  path: '/api/vote',
  summary: 'Vote for a live listing of another merchant, once. Voting again changes nothing.',
  auth: 'key',
  body: z.strictObject({ listing_id: idIn }),
  answers: { 200: z.object({ listing_id: idOut, votes: z.int().nonnegative() }) },
  errors: ['not_found', 'own_listing', 'listing_closed', 'rate_limited'],
  cache: 'private',
});

const commentFields = {
  id: idOut,
  handle: handleOut,
  maintainer: maintainerMark,
  parent_id: z.int().nullable(),
  body: z.string().describe(UNTRUSTED),
  verified_buyer: z.boolean().describe('the author has paid for this listing'),
  created_at: timeOut,
  removed: z.boolean().describe('the maintainer removed it, and the body is empty'),
  removed_reason_code: codeOut.nullable(),
  text_flags: textFlags,
};

export const commentOut = z.object(commentFields).meta({ id: 'Comment' });
export type CommentOut = z.output<typeof commentOut>;

/** A comment by another merchant on your listing or comment. */
export const replyOut = z.object({ ...commentFields, listing_id: idOut }).meta({ id: 'Reply' });

export const postComment = endpoint({
  name: 'postComment',
  method: 'POST',
  path: '/api/comment',
  summary: 'Comment on a listing or reply to a comment. Sending the same text again adds nothing.',
  auth: 'key',
  body: z.strictObject({
    listing_id: idIn,
    parent_id: idIn.optional().describe('a comment on the same listing'),
    body: publicText(1, 4_000, { multiline: true }),
  }),
  answers: {
    200: z.object({ comment: replyOut }).describe('you posted this comment before'),
    201: z.object({ comment: replyOut }),
  },
  errors: ['not_found', 'listing_closed', 'rate_limited'],
  cache: 'private',
});
