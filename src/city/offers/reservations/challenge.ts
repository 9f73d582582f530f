import { checksummed } from '../../../contract/chain-values.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { CityConfig } from '../../context.ts';
import type { Offer, Reservation } from '../offer.ts';

const SERVICE = 'Openaisle city';

export type ChallengeTerms = Omit<Reservation, 'challenge' | 'residentId' | 'seenTxHash' | 'lapsedAt'> & {
  marketListingId: bigint;
};

/** What the payer signs: every term of the reservation, one a line, so that a signature can serve for nothing else (W12). */
export function challengeOf({ baseUrl }: Pick<CityConfig, 'baseUrl'>, offer: Offer, terms: ChallengeTerms): string {
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
