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
 * POST /api/world/offer/:id/reserve. Market and chain are read first; then one transaction judges the offer under its lock: the first has
 * it, and everybody else is told so before paying anything.
 */
export const reserveOffer: CityOperation<CityEndpoints['reserveOffer']> = async (city, { params, body, caller }) => {
  const { clock, database } = city;
  const asked = { caller, checkoutId: body.market_checkout_id, payerWallet: body.payer_wallet };
  const found = await mustFindOffer(database, params.id);
  if (found.sellerId === caller.id || found.sellerWallet === asked.payerWallet) throw new Refusal('own_goods');
  await takeHourlyQuota(city, 'reservations_per_resident_hour', caller);
  // A reservation that is over, and unpaid as far as the chain shows, makes room.
  const isOver = found.phase === 'reserved' && runningFor(found, asked, clock.now()) === null;
  if (isOver) await advanceOffer(city, found.id);
  const offer = await mustFindOffer(database, found.id);
  // Looked at after the last reading: the same call may have reserved it since the first.
  const running = runningFor(offer, asked, clock.now());
  if (running !== null) return { status: 200, body: { reservation: presentReservation(offer, running) } };
  await mustBeOpen(database, offer, caller, clock.now());
  const checkout = await readFittingCheckout(city, offer, caller, asked.checkoutId);
  const time = await readReservationTime(city);
  const made = await reserve(city, offer.id, asked, checkout, time);
  const answer = { reservation: presentReservation(offer, made.reservation) };
  return made.isNew ? { status: 201, body: answer } : { status: 200, body: answer };
};

/** The reservation that the same call made before, while it runs. */
function runningFor({ phase, reservation }: Offer, asked: ReservationRequest, nowMs: number): Reservation | null {
  if (phase !== 'reserved' || reservation === null || reservation.residentId !== asked.caller.id) return null;
  if (reservation.marketCheckoutId !== asked.checkoutId || reservation.payerWallet !== asked.payerWallet) return null;
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

async function reserve(
  city: City,
  offerId: bigint,
  asked: ReservationRequest,
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
  { caller, checkoutId, payerWallet }: ReservationRequest,
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

/** The checkout as the market shows it now. It has to be open, of this offer, and made out to the caller. */
async function readFittingCheckout(
  city: City,
  offer: Offer,
  caller: Resident,
  checkoutId: bigint,
): Promise<CheckoutOut> {
  const checkout = await readCheckout(city, checkoutId);
  if (checkout === null) throw mismatch('The market has no such checkout.');
  if (checkout.city_offer_id !== Number(offer.id)) throw mismatch(`It is for the offer ${checkout.city_offer_id}.`);
  if (checkout.city_handle !== caller.handle) throw mismatch(`It is made out to ${checkout.city_handle}.`);
  if (checkout.market_buyer === offer.marketSeller) throw mismatch('Its buyer is the seller.');
  if (checkout.state !== 'open') throw mismatch(`It is ${checkout.state}, not open.`);
  if (Date.parse(checkout.expires_at) <= city.clock.now()) throw mismatch('It has expired.');
  mustFitListing(offer, checkout);
  return checkout;
}

/** The first reservation says which listing it is; another one of the same offer is none. */
function mustFitListing({ marketListingId }: Offer, { listing_id }: CheckoutOut): void {
  if (marketListingId === null || marketListingId === BigInt(listing_id)) return;
  throw mismatch(`It is for the listing ${listing_id}, and this offer is listed as ${marketListingId}.`);
}

function mismatch(detail: string): Refusal {
  return new Refusal('checkout_mismatch', { detail });
}

const SERVICE = 'Openaisle city';

type ChallengeTerms = Omit<Reservation, 'challenge' | 'residentId' | 'seenTxHash' | 'lapsedAt'> & {
  marketListingId: bigint;
};

/** What the payer signs: every term of the reservation, one a line, so that a signature can serve for nothing else (W12). */
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

const MOST_DRIFT_MS = 30_000;

/** When a reservation may begin, and the block that is final by then. */
interface ReservationTime {
  reservedAt: Date;
  openedBlock: bigint;
}

/**
 * The earlier of our clock and the chain's, in whole seconds, so that no transfer made after the answer lies before it. 503 where the two
 * disagree, since the transfer's block time decides.
 */
async function readReservationTime(city: City): Promise<ReservationTime> {
  const { chainId, latest, floor } = await mustReadHead(city);
  // No payment may begin by another chain's time, nor by that of a chain that took back what was final.
  if (chainId !== city.config.network.chainId || floor === null) {
    throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 10 });
  }
  const now = city.clock.now();
  const chain = Number(latest.timestamp) * 1_000;
  if (Math.abs(now - chain) > MOST_DRIFT_MS) throw new Refusal('chain_clock', { retryAfterSeconds: 5 });
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
