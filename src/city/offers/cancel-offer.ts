import type { CityEndpoints } from '../../contract/city.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City, CityOperation, Resident } from '../context.ts';
import { advanceOffer } from './advance-offer.ts';
import { type Offer, reservedForSeconds } from './offer.ts';
import { applyAct, nextPhase } from './offer-steps.ts';
import { presentOffer } from './present-offer.ts';
import { lockOffer, mustFindOffer } from './store.ts';

/** POST /api/world/offer/:id/cancel. A reservation that is over frees the offer first; one that runs does not. */
export const cancelOffer: CityOperation<CityEndpoints['cancelOffer']> = async (city, { params, caller }) => {
  const found = await mustFindOffer(city.database, params.id);
  mustBeSeller(found, caller);
  if (found.phase === 'reserved' || found.phase === 'payment_pending') await advanceOffer(city, found.id);
  await cancel(city, found.id);
  return { status: 200, body: { offer: presentOffer(city, await mustFindOffer(city.database, found.id)) } };
};

function mustBeSeller(offer: Offer, caller: Resident): void {
  if (offer.sellerId !== caller.id) throw new Refusal('not_offer_seller');
}

async function cancel({ database, clock }: City, id: bigint): Promise<void> {
  await database.transaction(async (tx) => {
    const offer = await lockOffer(tx, id);
    if (offer === null || offer.phase === 'canceled') return;
    if (offer.phase === 'claimed') throw new Refusal('offer_closed', { detail: 'The thing was bought.' });
    const now = clock.now();
    if (nextPhase(offer.phase, 'cancel') === null) {
      throw new Refusal('offer_busy', { retryAfterSeconds: reservedForSeconds(offer, now) });
    }
    await applyAct(tx, offer, 'cancel', { canceledAt: new Date(now) });
  });
}
