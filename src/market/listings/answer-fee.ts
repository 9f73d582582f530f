import type { Market } from '../context.ts';
import { findListingOfFee } from '../fees/store.ts';
import type { Payment } from '../payments/payment.ts';
import { answerCreated, type CreateAnswer } from './answer-created.ts';

/** The listing that a completed fee made; null where it is a credit instead. */
export async function answerCompletedFee(market: Market, payment: Payment): Promise<CreateAnswer | null> {
  market.crashPoint('after_commit_before_answer');
  const listingId = await findListingOfFee(market.database, payment.id);
  return listingId === null ? null : await answerCreated(market, listingId);
}
