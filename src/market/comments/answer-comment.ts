import type { z } from 'zod';
import type { replyOut } from '../../contract/comments.ts';
import { presentReply } from '../catalog/comments/present-comment.ts';
import { readComment } from '../catalog/comments/store.ts';
import type { Market } from '../context.ts';

/** What every act on a comment is answered with: how it stands now. */
export async function answerComment(market: Market, id: bigint): Promise<{ comment: z.output<typeof replyOut> }> {
  const row = await readComment(market.database, id);
  if (row === null) throw new TypeError('a comment that was just written is gone');
  return { comment: presentReply(row) };
}
