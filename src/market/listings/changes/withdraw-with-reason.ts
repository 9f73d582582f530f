import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';
import { answerListing } from '../answer-listing.ts';
import { withdrawForGood } from './withdraw-listing.ts';

/** POST /api/listing/:id/withdraw. For clients that cannot send DELETE or want to give a reason. An empty reason counts as none. */
export const withdrawWithReason: MarketOperation<Endpoints['withdrawWithReason']> = async (market, call) => {
  await withdrawForGood(market, call.caller, call.params.id, call.body.reason || null);
  return await answerListing(market, call.params.id);
};
