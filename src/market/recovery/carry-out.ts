import type { Tx } from '../../platform/database/database.ts';
import { lockComment, markCommentRemoved } from '../comments/store.ts';
import { recordEvent } from '../events/record-event.ts';
import { findHandle } from '../identity/store.ts';
import { lockListing, markWithdrawn } from '../listings/changes/store.ts';
import { markRemoved } from '../moderation/store.ts';
import type { CommandMarket } from '../payments/commands/command-market.ts';
import type { Lost } from './find-lost.ts';

const MAINTAINER = 1n;
const REASON = 'Removed in a part of the log that was lost, and again by the recovery.';

interface Given {
  recoveryId: bigint;
  now: Date;
}

/** What was ended in the events that were lost is ended again, and told again. */
export async function carryOut(
  tx: Tx,
  { clock }: CommandMarket,
  lost: Lost,
  { recoveryId, now }: Given,
): Promise<void> {
  const tell = (event: Parameters<typeof recordEvent>[2]): Promise<void> =>
    recordEvent(tx, { clock, wakeEvents: () => {} }, event);
  const again = { recovery_id: Number(recoveryId) };
  for (const id of lost.withdrawn) {
    const listing = await lockListing(tx, id);
    if (listing?.state !== 'live') continue;
    markWithdrawn(tx, id, null, now);
    const actor = await findHandle(tx, listing.merchantId);
    const detail = { listing_id: Number(id), merchant_id: Number(listing.merchantId), ...again };
    await tell({ kind: 'withdrawal', actor, detail });
  }
  for (const [id, { reason: reasonCode, at }] of lost.removed) {
    const listing = await lockListing(tx, id);
    if (listing === null || (listing.state !== 'live' && listing.state !== 'withdrawn')) continue;
    // At its own time: a transfer that came after it is for the payee to review, also when it is taken back.
    markRemoved(tx, id, { reasonCode, reason: REASON, removedBy: MAINTAINER, now: at });
    const about = { listing_id: Number(id), merchant_id: Number(listing.merchantId), reason_code: reasonCode };
    await tell({
      kind: 'moderation',
      actor: await findHandle(tx, MAINTAINER),
      detail: { action: 'remove', ...about, ...again },
    });
  }
  for (const [id, reasonCode] of lost.commentsRemoved) {
    const comment = await lockComment(tx, id);
    if (comment === null || comment.removed) continue;
    markCommentRemoved(tx, id, { reasonCode, reason: REASON, now });
    const about = {
      comment_id: Number(id),
      listing_id: Number(comment.listingId),
      merchant_id: Number(comment.merchantId),
    };
    await tell({
      kind: 'moderation',
      actor: await findHandle(tx, MAINTAINER),
      detail: { action: 'remove_comment', ...about, reason_code: reasonCode, ...again },
    });
  }
}
