import { REVIEW_DAYS } from '../../../contract/vocabulary.ts';
import type { Market } from '../../context.ts';
import type { Completions } from '../completion.ts';
import { lockPayment } from '../store.ts';
import { recordReview } from './record-review.ts';
import { endReview, listReviewsSince } from './store.ts';

const DAY_MS = 86_400_000;
const AT_ONCE = 50;

/** Nobody waits for ever: a review that nobody ended in time is declined, publicly and by nobody. */
export async function declineOldReviews(market: Market, completions: Completions): Promise<void> {
  const now = new Date(market.clock.now());
  const before = new Date(now.getTime() - REVIEW_DAYS * DAY_MS);
  for (const payment of await listReviewsSince(market.database, before, AT_ONCE)) {
    await market.database.transaction(async (tx) => {
      await completions[payment.purpose].lockSubject(tx, payment);
      const locked = await lockPayment(tx, payment.id);
      if (locked?.status !== 'needs_review') return;
      await endReview(tx, locked.id, { outcome: 'declined', by: null, note: null, now });
      await recordReview(tx, market, locked, { outcome: 'declined', actor: 'system' });
    });
  }
}
