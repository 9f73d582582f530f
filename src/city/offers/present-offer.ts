import { checksummed } from '../../contract/chain-values.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { OfferOut } from '../../contract/world-records.ts';
import { isoTime } from '../../platform/clock.ts';
import type { City } from '../context.ts';
import { numberOrNull, thingUrl } from '../things/read-thing.ts';
import type { Offer } from './offer.ts';

export function presentOffer(city: Pick<City, 'config'>, offer: Offer): OfferOut {
  const { reservation } = offer;
  const url = `${city.config.baseUrl}/api/world/offer/${offer.id}`;
  return {
    id: Number(offer.id),
    phase: offer.phase,
    thing_id: Number(offer.thingId),
    thing_name: offer.thingName,
    thing_url: thingUrl(city, offer.thingId),
    locked: offer.phase !== 'claimed' && offer.phase !== 'canceled',
    seller: offer.seller,
    buyer: reservation?.handle ?? null,
    market_buyer: reservation?.marketBuyer ?? null,
    price_usdc: usdcOfUnits(offer.priceUnits),
    seller_wallet: checksummed(offer.sellerWallet),
    market_origin: offer.marketOrigin,
    market_draft_id: Number(offer.marketDraftId),
    market_listing_id: numberOrNull(offer.marketListingId),
    market_checkout_id: numberOrNull(reservation?.marketCheckoutId ?? null),
    chain_id: Number(offer.chainId),
    reserved_at: timeOf(reservation?.reservedAt ?? null),
    reserved_until: timeOf(reservation?.reservedUntil ?? null),
    created_at: isoTime(offer.createdAt),
    claimed_at: timeOf(offer.claimedAt),
    canceled_at: timeOf(offer.canceledAt),
    tx_hash: offer.txHash,
    buyer_wallet: reservation && checksummed(reservation.payerWallet),
    block_number: numberOrNull(offer.blockNumber),
    block_time: timeOf(offer.blockTime),
    cancel_url: `${url}/cancel`,
    offer_url: url,
  };
}

function timeOf(at: Date | null): string | null {
  return at && isoTime(at);
}
