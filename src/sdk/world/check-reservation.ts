import type { Hex } from 'viem';
import type { z } from 'zod';
import { checksummed } from '../../contract/chain-values.ts';
import type { reservationOut } from '../../contract/city.ts';
import { formed, named, own } from '../../contract/own-words.ts';
import { NETWORKS, type Network } from '../../contract/vocabulary.ts';
import { TermsRefused } from '../payments/payment-errors.ts';

export type Reservation = z.output<typeof reservationOut>;

/** Terms agreed before reserving: from the listing, the checkout and the caller. */
export interface ThingTerms {
  network: Network['name'];
  marketOrigin: string;
  cityOrigin: string;
  listingId: number;
  checkoutId: number;
  offerId: number;
  thingId: number;
  cityHandle: string;
  marketBuyer: string;
  payer: Hex;
  payee: string;
  amountUnits: bigint;
}

/** Seconds needed to sign, send and mine a transfer. */
const MIN_SECONDS_LEFT = 60;

/** Replaces the usual next steps, because a city has no intents and its terms aren't the market's. */
const OF_THE_CITY = { nextStep: own`Don’t pay until the city’s operator explains the request.` };

/** Throws unless the reservation asks for exactly the agreed terms, and the text to sign says the same and nothing else. */
export function checkReservation(reservation: Reservation, terms: ThingTerms, nowMs: number): void {
  const { usdc, chainId } = NETWORKS[terms.network];
  if (reservation.chain_id !== Number(chainId)) {
    throw new TermsRefused('wrong_network', own`the reservation isn’t on ${named(terms.network)}`, OF_THE_CITY);
  }
  if (!isSame(reservation.asset, usdc)) {
    throw new TermsRefused('wrong_asset', own`the asset isn’t native USDC`, OF_THE_CITY);
  }
  if (!isSame(reservation.seller_wallet, terms.payee)) {
    throw new TermsRefused('wrong_payee', own`the payee isn’t the listing’s wallet`, OF_THE_CITY);
  }
  if (reservation.amount_units !== terms.amountUnits.toString()) {
    throw new TermsRefused('wrong_amount', own`the amount isn’t the price of ${terms.amountUnits} units`, OF_THE_CITY);
  }
  const isOwn = isSame(reservation.payer_wallet, terms.payer) && reservation.city_handle === terms.cityHandle;
  if (!isOwn || reservation.offer_id !== terms.offerId || challengeOf(reservation, terms) !== reservation.challenge) {
    throw new TermsRefused(
      'wrong_intent',
      own`the reservation or the text to sign doesn’t match the terms`,
      OF_THE_CITY,
    );
  }
  checkReservationTime(reservation, nowMs);
}

export function checkReservationTime({ reserved_until: until }: Reservation, nowMs: number): void {
  if (Date.parse(until) - nowMs >= MIN_SECONDS_LEFT * 1_000) return;
  throw new TermsRefused('too_little_time', own`less than ${MIN_SECONDS_LEFT} seconds of the reservation are left`, {
    outcome: own`nothing was sent; call again once it has expired`,
    nextStep: own`Call again after ${formed('time', until)}, when it has expired, and sign at once.`,
  });
}

/** Rebuilds the text from the checked values, so no line can be missing or added. */
function challengeOf(reservation: Reservation, terms: ThingTerms): string {
  const { usdc, chainId } = NETWORKS[terms.network];
  const nonce = /^nonce: ([0-9a-f]{32})$/m.exec(reservation.challenge)?.[1] ?? '';
  const lines: [string, string | number][] = [
    ['service', 'Openaisle city'],
    ['city_origin', terms.cityOrigin],
    ['market_origin', terms.marketOrigin],
    ['chain_id', chainId.toString()],
    ['reservation_id', reservation.id],
    ['purpose', 'city_ownership'],
    ['offer_id', terms.offerId],
    ['thing_id', terms.thingId],
    ['market_listing_id', terms.listingId],
    ['market_checkout_id', terms.checkoutId],
    ['city_handle', terms.cityHandle],
    ['market_buyer', terms.marketBuyer],
    ['payer', checksummed(lowerCase(terms.payer))],
    ['payee', checksummed(lowerCase(terms.payee))],
    ['asset', checksummed(usdc)],
    ['minimum_amount_units', terms.amountUnits.toString()],
    ['nonce', nonce],
    ['reserved_at', reservation.reserved_at],
    ['reserved_until', reservation.reserved_until],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join('\n');
}

function lowerCase(address: string): Hex {
  return address.toLowerCase() as Hex;
}

function isSame(one: string, other: string): boolean {
  return lowerCase(one) === lowerCase(other);
}
