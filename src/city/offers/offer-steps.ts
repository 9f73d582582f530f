import type { OfferPhase } from '../../contract/world-records.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Offer } from './offer.ts';
import { saveOffer } from './store.ts';

/**
 * What each act leads to from each phase: the only place that says so. The trigger `offers_step` holds the same steps, and the diagram
 * in docs/world-states.md is drawn from this table. What is not here is not allowed.
 */
export const OFFER_STEPS = {
  reserve: { listed: 'reserved' },
  // Unpaid: a block at or after the end was read, and no transfer that fits.
  lapse: { reserved: 'listed' },
  // A claimed transaction is in a block, or one that fits was seen when the time was over.
  await_payment: { reserved: 'payment_pending' },
  settle: { reserved: 'claimed', payment_pending: 'claimed' },
  find_invalid: { reserved: 'payment_invalid', payment_pending: 'payment_invalid' },
  // After two hours: without a transfer that fits, and with one.
  expire: { payment_pending: 'payment_expired' },
  hand_to_founder: { payment_pending: 'founder_review' },
  cancel: {
    listed: 'canceled',
    payment_invalid: 'canceled',
    payment_expired: 'canceled',
    founder_review: 'canceled',
  },
} as const satisfies Record<string, Partial<Record<OfferPhase, OfferPhase>>>;

export type OfferAct = keyof typeof OFFER_STEPS;

/** The phase after the act; null where it is not allowed. */
export function nextPhase(phase: OfferPhase, act: OfferAct): OfferPhase | null {
  const steps: Partial<Record<OfferPhase, OfferPhase>> = OFFER_STEPS[act];
  return steps[phase] ?? null;
}

/** What changes in addition to the phase. */
type OfferChanges = Partial<
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
