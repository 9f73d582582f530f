import type { Endpoints } from '../../../contract/index.ts';
import type { Market, MarketOperation, Merchant } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { answerListing } from '../answer-listing.ts';
import { mustOwn } from '../check-goods.ts';
import { mustStep } from '../listing-steps.ts';
import { lockListing, markWithdrawn } from './store.ts';

export const withdrawListing: MarketOperation<Endpoints['withdrawListing']> = async (market, call) => {
  await withdrawForGood(market, call.caller, call.params.id, null);
  return await answerListing(market, call.params.id);
};

/**
 * Withdraws permanently. Payments under way are still delivered. Withdrawing again changes nothing, not even the
 * reason. A listing that the maintainer removed while live cannot be withdrawn.
 */
export async function withdrawForGood(
  market: Market,
  caller: Merchant,
  id: bigint,
  reason: string | null,
): Promise<void> {
  await market.database.transaction(async (tx) => {
    const listing = mustOwn(await lockListing(tx, id), caller);
    if (mustStep(listing, 'withdraw') === 'nothing') return;
    markWithdrawn(tx, id, reason, new Date(market.clock.now()));
    await recordEvent(tx, market, {
      kind: 'withdrawal',
      actor: caller.handle,
      detail: { listing_id: Number(id), merchant_id: Number(caller.id) },
    });
  });
}
