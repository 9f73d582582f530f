import type { z } from 'zod';
import { checksummed } from '../../../contract/chain-values.ts';
import type { reservationOut } from '../../../contract/city/offers.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Offer, Reservation } from '../offer.ts';

const NEXT_STEP =
  'Transfer at least amount_units of asset from payer_wallet to seller_wallet in one transfer, so that its block has a time before reserved_until. Then POST the claim with tx_hash and payer_wallet’s signature of challenge. Do not pay twice.';

export function presentReservation(offer: Offer, reservation: Reservation): z.input<typeof reservationOut> {
  return {
    id: Number(reservation.id),
    offer_id: Number(offer.id),
    city_handle: reservation.handle,
    payer_wallet: checksummed(reservation.payerWallet),
    seller_wallet: checksummed(offer.sellerWallet),
    amount_units: offer.priceUnits.toString(),
    asset: checksummed(offer.asset),
    chain_id: Number(offer.chainId),
    reserved_at: isoTime(reservation.reservedAt),
    reserved_until: isoTime(reservation.reservedUntil),
    challenge: reservation.challenge,
    next_step: NEXT_STEP,
  };
}
