import type { Tx } from '../../../platform/database/database.ts';
import type { Market } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import type { Payment, ReviewOutcome } from '../payment.ts';

/** The public word of a decision: the seller's own, or the maintainer's use of its power over fees (W13). */
export async function recordReview(
  tx: Tx,
  market: Market,
  payment: Payment,
  { outcome, actor }: { outcome: ReviewOutcome; actor: string },
): Promise<void> {
  const isMaintainers = payment.purpose === 'listing_fee' && actor !== 'system';
  await recordEvent(tx, market, {
    kind: isMaintainers ? 'moderation' : 'review',
    actor,
    detail: {
      ...(isMaintainers ? { action: 'fee_review' } : {}),
      payment_id: Number(payment.id),
      ...(payment.listingId === null ? {} : { listing_id: Number(payment.listingId) }),
      outcome,
    },
  });
}
