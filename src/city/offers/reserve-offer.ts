import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import { RESERVATION_MINUTES, RESERVATION_PAUSE_MINUTES } from '../../contract/vocabulary.ts';
import type { CheckoutOut } from '../../contract/world-records.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City, CityOperation, Resident } from '../context.ts';
import { applyAct } from './apply-act.ts';
import { heldFor } from './held-for.ts';
import { look } from './look.ts';
import { mustFindOffer } from './must-find-offer.ts';
import type { Offer, Reservation } from './offer.ts';
import { nextPhase } from './offer-steps.ts';
import { challengeOf } from './reservations/challenge.ts';
import { presentReservation } from './reservations/present-reservation.ts';
import { mustFitListing, readFittingCheckout } from './reservations/read-fitting-checkout.ts';
import { type ReservationTime, readReservationTime } from './reservations/read-reservation-time.ts';
import { findLastLapse, insertReservation, nextReservationId } from './reservations/store.ts';
import { lockOffer } from './store.ts';
import { takeHourlyQuota } from './take-hourly-quota.ts';

interface Asked {
  caller: Resident;
  checkoutId: bigint;
  payerWallet: Hex;
}

/**
 * POST /api/world/offer/:id/reserve. Market and chain are read first; then one transaction judges the offer under its lock: the first has
 * it, and everybody else is told so before paying anything.
 */
export const reserveOffer: CityOperation<CityEndpoints['reserveOffer']> = async (city, { params, body, caller }) => {
  const { clock, database } = city;
  const asked = { caller, checkoutId: body.market_checkout_id, payerWallet: body.payer_wallet };
  const found = await mustFindOffer(database, params.id);
  if (found.sellerId === caller.id || found.sellerWallet === asked.payerWallet) throw new Refusal('own_goods');
  await takeHourlyQuota(city, 'reservations_per_resident_hour', caller);
  const running = runningFor(found, asked, clock.now());
  if (running !== null) return { status: 200, body: { reservation: presentReservation(found, running) } };
  // A reservation that is over, and unpaid as far as the chain shows, makes room.
  if (found.phase === 'reserved') await look(city, found.id);
  const offer = await mustFindOffer(database, found.id);
  await mustBeOpen(database, offer, caller, clock.now());
  const checkout = await readFittingCheckout(city, offer, caller, asked.checkoutId);
  const time = await readReservationTime(city);
  const made = await reserve(city, offer.id, asked, checkout, time);
  const answer = { reservation: presentReservation(offer, made.reservation) };
  return made.isNew ? { status: 201, body: answer } : { status: 200, body: answer };
};

/** The reservation that the same call made before, while it runs. */
function runningFor({ phase, reservation }: Offer, asked: Asked, nowMs: number): Reservation | null {
  if (phase !== 'reserved' || reservation === null || reservation.residentId !== asked.caller.id) return null;
  if (reservation.marketCheckoutId !== asked.checkoutId || reservation.payerWallet !== asked.payerWallet) return null;
  return nowMs < reservation.reservedUntil.getTime() ? reservation : null;
}

async function mustBeOpen(queryable: Queryable, offer: Offer, { id }: Resident, nowMs: number): Promise<void> {
  if (offer.phase === 'reserved' || offer.phase === 'payment_pending') {
    throw new Refusal('offer_reserved', { retryAfterSeconds: heldFor(offer, nowMs) });
  }
  if (nextPhase(offer.phase, 'reserve') === null) throw new Refusal('offer_closed');
  const lapsedAt = await findLastLapse(queryable, offer.id, id);
  const pauseMs = lapsedAt === null ? 0 : lapsedAt.getTime() + RESERVATION_PAUSE_MINUTES * 60_000 - nowMs;
  if (pauseMs > 0) throw new Refusal('reservation_pause', { retryAfterSeconds: Math.ceil(pauseMs / 1_000) });
}

async function reserve(
  city: City,
  offerId: bigint,
  asked: Asked,
  checkout: CheckoutOut,
  time: ReservationTime,
): Promise<{ reservation: Reservation; isNew: boolean }> {
  return city.database.transaction(async (tx) => {
    const offer = await lockOffer(tx, offerId);
    if (offer === null) throw new TypeError('an offer is never deleted');
    const nowMs = city.clock.now();
    // The same call twice at once.
    const running = runningFor(offer, asked, nowMs);
    if (running !== null) return { reservation: running, isNew: false };
    await mustBeOpen(tx, offer, asked.caller, nowMs);
    mustFitListing(offer, checkout);
    const reservation = await makeReservation(city, tx, offer, asked, checkout, time);
    await insertReservation(tx, reservation, new Date(nowMs));
    await applyAct(tx, offer, 'reserve', { reservation, marketListingId: BigInt(checkout.listing_id) });
    return { reservation, isNew: true };
  });
}

async function makeReservation(
  { config, random }: City,
  tx: Tx,
  offer: Offer,
  { caller, checkoutId, payerWallet }: Asked,
  checkout: CheckoutOut,
  { reservedAt, openedBlock }: ReservationTime,
): Promise<Reservation> {
  const terms = {
    id: await nextReservationId(tx),
    offerId: offer.id,
    handle: caller.handle,
    marketCheckoutId: checkoutId,
    marketBuyer: checkout.market_buyer,
    payerWallet,
    reservedAt,
    reservedUntil: new Date(reservedAt.getTime() + RESERVATION_MINUTES * 60_000),
    openedBlock,
    nonce: random.bytes(16).toString('hex'),
  };
  const challenge = challengeOf(config, offer, { ...terms, marketListingId: BigInt(checkout.listing_id) });
  return { ...terms, residentId: caller.id, challenge, seenTxHash: null, lapsedAt: null };
}
