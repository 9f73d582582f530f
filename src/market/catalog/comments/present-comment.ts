import type { z } from 'zod';
import type { CommentOut, replyOut } from '../../../contract/comments.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { CommentRow } from './store.ts';

export function presentComment(row: CommentRow): CommentOut {
  return {
    id: Number(row.id),
    handle: row.handle,
    parent_id: row.parent_id === null ? null : Number(row.parent_id),
    body: row.body,
    verified_buyer: row.verified_buyer,
    created_at: isoTime(row.created_at),
    removed: row.removed,
    removed_reason_code: row.removed_reason_code,
    text_flags: row.text_flags,
  };
}

/** Where it does not stand under its listing. */
export function presentReply(row: CommentRow): z.output<typeof replyOut> {
  return { ...presentComment(row), listing_id: Number(row.listing_id) };
}
