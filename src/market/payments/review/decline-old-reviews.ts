import { REVIEW_DAYS } from '../../../contract/vocabulary.ts';
import type { Tx } from '../../../platform/database/database.ts';
import type { Market } from '../../context.ts';
import type { Completions } from '../completion.ts';
import type { Payment } from '../payment.ts';
import { lockPayment } from '../store.ts';
import { recordReview } from './record-review.ts';
import { endReview, listReviewsSince } from './store.ts';

const DAY_MS = 86_400_000;
const AT_ONCE = 50;

/** No payer waits for ever: a review that was not decided in time is declined by the system, publicly. */
export async function declineOldReviews(market: Market, completions: Completions): Promise<void> {
  const now = new Date(market.clock.now());
  const before = new Date(now.getTime() - REVIEW_DAYS * DAY_MS);
  for (const payment of await listReviewsSince(market.database, before, AT_ONCE)) {
    try {
      await market.database.transaction((tx) => decline(tx, market, completions, payment, now));
    } catch (error) {
      // The others must not wait for what ails this one.
      market.log.error('review_not_ended', { payment_id: payment.id, error });
    }
  }
}

async function decline(tx: Tx, market: Market, completions: Completions, payment: Payment, now: Date): Promise<void> {
  await completions[payment.purpose].lockSubject(tx, payment);
  const locked = await lockPayment(tx, payment.id);
  if (locked?.status !== 'needs_review') return;
  await endReview(tx, locked.id, { outcome: 'declined', by: null, note: null, logIndex: null, now });
  await recordReview(tx, market, locked, { outcome: 'declined', actor: 'system' });
}
