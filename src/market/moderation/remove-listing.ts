import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { answerListing } from '../listings/answer-listing.ts';
import { lockListing } from '../listings/changes/store.ts';
import { mustExist } from '../listings/check-goods.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { answerComment } from '../reactions/post-comment.ts';
import { lockComment, markCommentRemoved } from '../reactions/store.ts';
import { markRemoved } from './store.ts';

/**
 * POST /api/mod/remove. Also removes withdrawn listings, whose texts are public; after a restore they are withdrawn again. Removing a
 * removed listing changes nothing, because payments and appeals depend on the time and the reason of its removal.
 */
export const removeListing: MarketOperation<Endpoints['removeListing']> = async (market, call) => {
  const { listing_id: id, reason_code: reasonCode, reason } = call.body;
  await market.database.transaction(async (tx) => {
    const listing = mustExist(await lockListing(tx, id));
    if (mustStep(listing, 'remove') === 'nothing') return;
    // Read the clock under the lock, so that payments submitted earlier precede the removal.
    const now = new Date(market.clock.now());
    markRemoved(tx, id, { reasonCode, reason, removedBy: call.caller.id, now });
    await recordEvent(tx, market, {
      kind: 'moderation',
      actor: call.caller.handle,
      detail: {
        action: 'remove',
        listing_id: Number(id),
        merchant_id: Number(listing.merchantId),
        reason_code: reasonCode,
      },
    });
  });
  return await answerListing(market, id);
};

/** POST /api/mod/comment. Removing a removed comment changes neither the time nor the reason of its removal. */
export const removeComment: MarketOperation<Endpoints['removeComment']> = async (market, call) => {
  const { comment_id: id, reason_code: reasonCode, reason } = call.body;
  await market.database.transaction(async (tx) => {
    const comment = await lockComment(tx, id);
    if (comment === null) throw new Refusal('not_found', { detail: 'There is no comment with that id.' });
    if (comment.removed) return;
    markCommentRemoved(tx, id, { reasonCode, reason, now: new Date(market.clock.now()) });
    await recordEvent(tx, market, {
      kind: 'moderation',
      actor: call.caller.handle,
      detail: {
        action: 'remove_comment',
        comment_id: Number(id),
        listing_id: Number(comment.listingId),
        merchant_id: Number(comment.merchantId),
        reason_code: reasonCode,
      },
    });
  });
  return { status: 200, body: await answerComment(market, id) };
};
