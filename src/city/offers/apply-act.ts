import type { Tx } from '../../platform/database/database.ts';
import type { Offer } from './offer.ts';
import { nextPhase, type OfferAct } from './offer-steps.ts';
import { saveOffer } from './store.ts';

/** What changes in addition to the phase. */
export type OfferChanges = Partial<
  Pick<
    Offer,
    | 'marketListingId'
    | 'reservation'
    | 'pendingSince'
    | 'txHash'
    | 'blockNumber'
    | 'blockTime'
    | 'endReason'
    | 'claimedAt'
    | 'canceledAt'
  >
>;

/** The one way for an offer to change its phase. Call with the row locked, and with an act that its phase allows. */
export async function applyAct(tx: Tx, offer: Offer, act: OfferAct, changes: OfferChanges): Promise<void> {
  const phase = nextPhase(offer.phase, act);
  if (phase === null) throw new TypeError(`offer ${offer.id} is ${offer.phase}: no step ${act} leads from there`);
  await saveOffer(tx, { ...offer, ...changes, phase });
}
