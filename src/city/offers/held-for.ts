import type { Offer } from './offer.ts';

/** Until the chain is past the reservation, or a payment has been decided: how long that takes is unknown. */
const UNKNOWN_SECONDS = 30;

/** For how many seconds another buyer need not ask again. */
export function heldFor({ phase, reservation }: Offer, nowMs: number): number {
  if (phase !== 'reserved' || reservation === null) return UNKNOWN_SECONDS;
  const left = Math.ceil((reservation.reservedUntil.getTime() - nowMs) / 1_000);
  return left > 0 ? left : UNKNOWN_SECONDS;
}
