import type { z } from 'zod';
import type { replyOut } from '../../contract/feedback.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { Tx } from '../../platform/database/database.ts';
import { takeQuotaUnless } from '../../platform/database/quota.ts';
import { Refusal } from '../../platform/refusal.ts';
import { presentReply } from '../catalog/present-listing.ts';
import { readComment } from '../catalog/store.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { dailyQuota } from '../limits/quotas.ts';
import { mustExist } from '../listings/check-goods.ts';
import { flagText } from '../listings/flag-text.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { type ListingTerms, lockListingShared } from '../listings/store.ts';
import { type CommentToMake, insertUnlessSame, isCommentOn, sameCommentQuery } from './store.ts';

/** Name of the lock under which comments get their ids. */
const COMMENTS_LOCK = 'comments';
/** How long an identical comment counts as a retry by a client that got no answer. */
const SAME_MS = 86_400_000;

/**
 * POST /api/comment. Repeating a comment of the last day that was not removed returns it, whatever the state of the listing, and uses no
 * quota. All other calls count, refused ones included.
 */
export const postComment: MarketOperation<Endpoints['postComment']> = async (market, call) => {
  const { caller, body } = call;
  const comment = {
    listingId: body.listing_id,
    merchantId: caller.id,
    parentId: body.parent_id ?? null,
    body: body.body,
  };
  const quota = dailyQuota(market, 'voices_per_merchant_day', caller.id);
  const existingId = await takeQuotaUnless(market, quota, sameCommentQuery(comment, sinceOf(market.clock.now())));
  const { id, made } =
    existingId === null
      ? await market.database.transaction((tx) => makeComment(tx, market, caller, comment))
      : { id: existingId, made: false };
  return { status: made ? 201 : 200, body: await answerComment(market, id) };
};

async function makeComment(
  tx: Tx,
  market: Market,
  caller: Merchant,
  comment: CommentToMake,
): Promise<{ id: bigint; made: boolean }> {
  const { listingId, parentId } = comment;
  const listing = await mustAcceptComment(tx, comment);
  // Lock, so that ids follow the order of commits: a reader who has seen an id never meets a lower one later, and a reader who pages from
  // the newest finds as many comments as the first page counted. Also serializes identical requests, so that the second finds the comment
  // of the first.
  await tx.lock(COMMENTS_LOCK);
  const now = market.clock.now();
  const written = await insertUnlessSame(tx, {
    ...comment,
    textFlags: flagText([comment.body]),
    now: new Date(now),
    since: sinceOf(now),
  });
  if (!written.made) return written;
  await recordEvent(tx, market, {
    kind: 'comment',
    actor: caller.handle,
    detail: {
      comment_id: Number(written.id),
      listing_id: Number(listingId),
      merchant_id: Number(listing.merchantId),
      ...(parentId === null ? {} : { parent_id: Number(parentId) }),
    },
  });
  return written;
}

/** Checks under the listing's row lock, which waits for a removal in progress. */
async function mustAcceptComment(tx: Tx, { listingId, parentId }: CommentToMake): Promise<ListingTerms> {
  const listing = mustExist(await lockListingShared(tx, listingId));
  mustStep(listing, 'comment');
  if (parentId !== null && !(await isCommentOn(tx, parentId, listingId)))
    throw new Refusal('not_found', { detail: 'parent_id does not name a comment of this listing.' });
  return listing;
}

function sinceOf(nowMs: number): Date {
  return new Date(nowMs - SAME_MS);
}

/** Returns the comment's current state, which is the answer to every action on a comment. */
export async function answerComment(market: Market, id: bigint): Promise<{ comment: z.output<typeof replyOut> }> {
  const row = await readComment(market.database, id);
  if (row === null) throw new TypeError('a comment that was just written is gone');
  return { comment: presentReply(row) };
}
