import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { answerListing } from '../listings/answer-listing.ts';
import { lockListing } from '../listings/changes/store.ts';
import { mustExist } from '../listings/check-goods.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { setPinned } from './store.ts';

/** POST /api/mod/pin. Only live listings can be pinned; unpinning works in every state. */
export const pinListing: MarketOperation<Endpoints['pinListing']> = async (market, call) => {
  const { listing_id: id, pinned } = call.body;
  await market.database.transaction(async (tx) => {
    const listing = mustExist(await lockListing(tx, id));
    if (listing.pinned === pinned) return;
    mustStep(listing, pinned ? 'pin' : 'unpin');
    setPinned(tx, id, pinned);
    await recordEvent(tx, market, {
      kind: 'moderation',
      actor: call.caller.handle,
      detail: {
        action: pinned ? 'pin' : 'unpin',
        listing_id: Number(id),
        merchant_id: Number(listing.merchantId),
      },
    });
  });
  return await answerListing(market, id);
};
