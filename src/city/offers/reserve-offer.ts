import type { z } from 'zod';
import { checksummed } from '../../contract/chain-values.ts';
import type { CityEndpoints, reservationOut } from '../../contract/city.ts';
import { RESERVATION_MINUTES, RESERVATION_PAUSE_MINUTES } from '../../contract/vocabulary.ts';
import type { CheckoutOut } from '../../contract/world-records.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { type City, type CityConfig, type CityOperation, type Resident, takeHourlyQuota } from '../context.ts';
import { readCheckout } from '../fetch-market.ts';
import { type ChainHead, readHead } from '../payments/read-evidence.ts';
import { advanceOffer } from './advance-offer.ts';
import { type Offer, type Reservation, reservedForSeconds } from './offer.ts';
import { applyAct, nextPhase } from './offer-steps.ts';
import { findLastLapse, insertReservation, lockOffer, mustFindOffer, nextReservationId } from './store.ts';

interface ReservationRequest {
  caller: Resident;
  checkoutId: bigint;
  payerWallet: Hex;
}

/**
 * POST /api/world/offer/:id/reserve. Reads market and chain first. Then one transaction decides under the offer's lock, so the first
 * caller gets the offer, and all others are refused before they pay anything.
 */
export const reserveOffer: CityOperation<CityEndpoints['reserveOffer']> = async (city, { params, body, caller }) => {
  const { clock, database } = city;
  const request = { caller, checkoutId: body.market_checkout_id, payerWallet: body.payer_wallet };
  const before = await mustFindOffer(database, params.id);
  if (before.sellerId === caller.id || before.sellerWallet === request.payerWallet) throw new Refusal('own_goods');
  await takeHourlyQuota(city, 'reservations_per_resident_hour', caller);
  // Free an offer whose reservation is over and unpaid, as far as the chain shows.
  const isOver = before.phase === 'reserved' && findReservation(before, request, clock.now()) === null;
  if (isOver) await advanceOffer(city, before.id);
  const offer = await mustFindOffer(database, before.id);
  // Check again after rereading, because the same call may have reserved it meanwhile.
  const running = findReservation(offer, request, clock.now());
  if (running !== null) return { status: 200, body: { reservation: presentReservation(offer, running) } };
  await mustBeOpen(database, offer, caller, clock.now());
  const checkout = await readFittingCheckout(city, offer, caller, request.checkoutId);
  const time = await readReservationTime(city);
  const made = await insertOnce(city, offer.id, { request, checkout, time });
  const answer = { reservation: presentReservation(offer, made.reservation) };
  return made.isNew ? { status: 201, body: answer } : { status: 200, body: answer };
};

/** Returns the active reservation if an identical earlier call made it. */
function findReservation(
  { phase, reservation }: Offer,
  request: ReservationRequest,
  nowMs: number,
): Reservation | null {
  if (phase !== 'reserved' || reservation === null || reservation.residentId !== request.caller.id) return null;
  if (reservation.marketCheckoutId !== request.checkoutId || reservation.payerWallet !== request.payerWallet)
    return null;
  return nowMs < reservation.reservedUntil.getTime() ? reservation : null;
}

async function mustBeOpen(queryable: Queryable, offer: Offer, { id }: Resident, nowMs: number): Promise<void> {
  if (offer.phase === 'reserved' || offer.phase === 'payment_pending') {
    throw new Refusal('offer_reserved', { retryAfterSeconds: reservedForSeconds(offer, nowMs) });
  }
  if (nextPhase(offer.phase, 'reserve') === null) throw new Refusal('offer_closed');
  const lapsedAt = await findLastLapse(queryable, offer.id, id);
  const pauseMs = lapsedAt === null ? 0 : lapsedAt.getTime() + RESERVATION_PAUSE_MINUTES * 60_000 - nowMs;
  if (pauseMs > 0) throw new Refusal('reservation_pause', { retryAfterSeconds: Math.ceil(pauseMs / 1_000) });
}

interface CheckedReservation {
  request: ReservationRequest;
  checkout: CheckoutOut;
  time: ReservationTime;
}

async function insertOnce(
  city: City,
  offerId: bigint,
  checked: CheckedReservation,
): Promise<{ reservation: Reservation; isNew: boolean }> {
  return city.database.transaction(async (tx) => {
    const { request, checkout } = checked;
    const offer = await lockOffer(tx, offerId);
    if (offer === null) throw new TypeError('an offer is never deleted');
    const nowMs = city.clock.now();
    // The same call may run twice concurrently.
    const running = findReservation(offer, request, nowMs);
    if (running !== null) return { reservation: running, isNew: false };
    await mustBeOpen(tx, offer, request.caller, nowMs);
    mustFitListing(offer, checkout);
    const reservation = await makeReservation(city, tx, offer, checked);
    await insertReservation(tx, reservation, new Date(nowMs));
    await applyAct(tx, offer, 'reserve', { reservation, marketListingId: BigInt(checkout.listing_id) });
    return { reservation, isNew: true };
  });
}

async function makeReservation(
  { config, random }: City,
  tx: Tx,
  offer: Offer,
  { request, checkout, time }: CheckedReservation,
): Promise<Reservation> {
  const { caller, checkoutId, payerWallet } = request;
  const { reservedAt, openedBlock } = time;
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

const NEXT_STEP =
  'Transfer at least amount_units of asset from payer_wallet to seller_wallet in one transfer, so that its block has a time before reserved_until. Then POST the claim with tx_hash and payer_wallet’s signature of challenge. Do not pay twice.';

function presentReservation(offer: Offer, reservation: Reservation): z.input<typeof reservationOut> {
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

/** Reads the checkout from the market now. It must be open, for this offer, and issued to the caller. */
async function readFittingCheckout(
  city: City,
  offer: Offer,
  caller: Resident,
  checkoutId: bigint,
): Promise<CheckoutOut> {
  const checkout = await readCheckout(city, checkoutId);
  if (checkout === null) throw checkoutMismatch('The market has no such checkout.');
  if (checkout.city_offer_id !== Number(offer.id))
    throw checkoutMismatch(`The checkout is for offer ${checkout.city_offer_id}.`);
  if (checkout.city_handle !== caller.handle)
    throw checkoutMismatch(`The checkout is made out to ${checkout.city_handle}.`);
  if (checkout.market_buyer === offer.marketSeller) throw checkoutMismatch('The buyer is the seller.');
  if (checkout.state !== 'open') throw checkoutMismatch(`The checkout is ${checkout.state}, not open.`);
  if (Date.parse(checkout.expires_at) <= city.clock.now()) throw checkoutMismatch('The checkout has expired.');
  mustFitListing(offer, checkout);
  return checkout;
}

/** The first reservation fixes the listing, so a checkout of another listing is refused. */
function mustFitListing({ marketListingId }: Offer, { listing_id }: CheckoutOut): void {
  if (marketListingId === null || marketListingId === BigInt(listing_id)) return;
  throw checkoutMismatch(`The checkout is for listing ${listing_id}, but this offer is listed as ${marketListingId}.`);
}

function checkoutMismatch(detail: string): Refusal {
  return new Refusal('checkout_mismatch', { detail });
}

const SERVICE = 'Openaisle city';

type ChallengeTerms = Omit<Reservation, 'challenge' | 'residentId' | 'seenTxHash' | 'lapsedAt'> & {
  marketListingId: bigint;
};

/** Returns the text that the payer signs: every term of the reservation, one per line, so that the signature fits nothing else. */
function challengeOf({ baseUrl }: Pick<CityConfig, 'baseUrl'>, offer: Offer, terms: ChallengeTerms): string {
  const lines: [string, string][] = [
    ['service', SERVICE],
    ['city_origin', baseUrl],
    ['market_origin', offer.marketOrigin],
    ['chain_id', offer.chainId.toString()],
    ['reservation_id', terms.id.toString()],
    ['purpose', 'city_ownership'],
    ['offer_id', offer.id.toString()],
    ['thing_id', offer.thingId.toString()],
    ['market_listing_id', terms.marketListingId.toString()],
    ['market_checkout_id', terms.marketCheckoutId.toString()],
    ['city_handle', terms.handle],
    ['market_buyer', terms.marketBuyer],
    ['payer', checksummed(terms.payerWallet)],
    ['payee', checksummed(offer.sellerWallet)],
    ['asset', checksummed(offer.asset)],
    ['minimum_amount_units', offer.priceUnits.toString()],
    ['nonce', terms.nonce],
    ['reserved_at', isoTime(terms.reservedAt)],
    ['reserved_until', isoTime(terms.reservedUntil)],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join('\n');
}

const MAX_DRIFT_MS = 30_000;

interface ReservationTime {
  reservedAt: Date;
  openedBlock: bigint;
}

/**
 * Returns the earlier of our clock and the chain's, in whole seconds, so that no transfer made after the answer can predate it. Refuses
 * with 503 if the two differ much, because the transfer's block time decides.
 */
async function readReservationTime(city: City): Promise<ReservationTime> {
  const { chainId, latest, floor } = await mustReadHead(city);
  // Do not take the time from a provider that is on the wrong chain, or that contradicts a final block.
  if (chainId !== city.config.network.chainId || floor === null) {
    throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 10 });
  }
  const now = city.clock.now();
  const chain = Number(latest.timestamp) * 1_000;
  if (Math.abs(now - chain) > MAX_DRIFT_MS) throw new Refusal('chain_clock', { retryAfterSeconds: 5 });
  return { reservedAt: new Date(Math.floor(Math.min(now, chain) / 1_000) * 1_000), openedBlock: floor.number };
}

async function mustReadHead(city: City): Promise<ChainHead> {
  try {
    return await readHead(city);
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
    throw error;
  }
}
