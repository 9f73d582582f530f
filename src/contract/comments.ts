import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { idIn, idOut, timeOut } from './paging.ts';
import { publicText } from './text.ts';
import { textFlags, UNTRUSTED } from './text-flags.ts';

const commentFields = {
  id: idOut,
  handle: z.string(),
  parent_id: z.int().nullable(),
  body: z.string().describe(UNTRUSTED),
  verified_buyer: z.boolean().describe('by now the author has paid for this listing'),
  created_at: timeOut,
  removed: z.boolean().describe('by the maintainer; then the body is empty'),
  removed_reason_code: z.string().nullable(),
  text_flags: textFlags,
};

export const commentOut = z.object(commentFields).meta({ id: 'Comment' });
export type CommentOut = z.output<typeof commentOut>;

/** What another merchant wrote under an own comment or listing. */
export const replyOut = z.object({ ...commentFields, listing_id: idOut }).meta({ id: 'Reply' });

export const postComment = endpoint({
  name: 'postComment',
  method: 'POST',
  path: '/api/comment',
  summary: 'Comment on a listing, or reply to a comment. The same words again are the same comment.',
  auth: 'key',
  body: z.strictObject({
    listing_id: idIn,
    parent_id: idIn.optional().describe('a comment on the same listing'),
    body: publicText(1, 4_000, { multiline: true }),
  }),
  answers: {
    200: z.object({ comment: replyOut }).describe('the same comment, made before'),
    201: z.object({ comment: replyOut }),
  },
  errors: ['not_found', 'listing_closed', 'rate_limited'],
  cache: 'private',
});
