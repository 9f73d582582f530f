import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { countCredits, findListingOfFee } from '../fees/store.ts';
import { pathOf } from '../payments/paths/payment-paths.ts';
import type { Payment } from '../payments/payment.ts';
import { answerCreated, type ListAnswer } from './answer-created.ts';
import type { Subject } from './list-request.ts';

/** The listing that a completed fee made; null where it is a credit instead. */
export async function answerCompletedFee(market: Market, payment: Payment): Promise<ListAnswer | null> {
  market.crashPoint('after_commit_before_answer');
  const listingId = await findListingOfFee(market.database, payment.id);
  return listingId === null ? null : await answerCreated(market, listingId);
}

/** What a paid fee is answered with that made no listing: it is a credit, or another listing has spent it. */
export async function refuseWithoutListing(
  market: Market,
  payment: Payment,
  { noun, unlistable }: Subject,
): Promise<Refusal> {
  const { merchantId } = payment;
  if (merchantId === null || (await countCredits(market.database, merchantId)) === 0n) {
    return new Refusal(pathOf(payment).present.spentReason, { detail: 'That fee was spent on another listing.' });
  }
  return new Refusal(unlistable, {
    detail: `The fee is paid and kept as a credit: send the request again with ${noun} that can be listed.`,
    doNotPayAgain: true,
  });
}
