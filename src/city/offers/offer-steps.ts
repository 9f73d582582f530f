import type { OfferPhase } from '../../contract/world-records.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Offer } from './offer.ts';
import { saveOffer } from './store.ts';

/** Allowed steps, the same as in the trigger `offers_step`. docs/world-states.md is drawn from this table. */
export const OFFER_STEPS = {
  reserve: { listed: 'reserved' },
  // Unpaid: a block at or after the window's end was read, and no transfer fits.
  lapse: { reserved: 'listed' },
  // A claimed transaction is in a block, or a fitting transfer was found after the window's end.
  await_payment: { reserved: 'payment_pending' },
  sell: { reserved: 'claimed', payment_pending: 'claimed' },
  find_invalid: { reserved: 'payment_invalid', payment_pending: 'payment_invalid' },
  // After two hours: expire if there is no fitting transfer, else hand_to_founder.
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

export function nextPhase(phase: OfferPhase, act: OfferAct): OfferPhase | null {
  const steps: Partial<Record<OfferPhase, OfferPhase>> = OFFER_STEPS[act];
  return steps[phase] ?? null;
}

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

/** The only way to change an offer's phase. Call with the row locked and with an act that the current phase allows. */
export async function applyAct(tx: Tx, offer: Offer, act: OfferAct, changes: OfferChanges): Promise<void> {
  const phase = nextPhase(offer.phase, act);
  if (phase === null) throw new TypeError(`offer ${offer.id} is ${offer.phase}: no step ${act} leads from there`);
  await saveOffer(tx, { ...offer, ...changes, phase });
}
