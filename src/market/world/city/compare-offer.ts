import { unitsOfUsdc, usdcText } from '../../../contract/money.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import type { Hex } from '../../../platform/hex.ts';

/** What an offer has to say. None of it ever changes. */
export interface ExpectedOffer {
  offerId: bigint;
  thingId: bigint;
  /** A resident. */
  seller: string;
  sellerWallet: Hex;
  priceUnits: bigint;
  marketOrigin: string;
  chainId: bigint;
  draftId: bigint;
  /** Null before it is listed. The city may learn of it later, so that an offer may name none. */
  listingId: bigint | null;
}

/** As in the errors of a refusal. */
export interface OfferDifference {
  path: string;
  message: string;
}

/** In what an offer differs from the one expected: pure. Says what is expected and never what came, which may be anything. */
export function compareOffer(offer: OfferOut, expected: ExpectedOffer): OfferDifference[] {
  const { listingId } = expected;
  const named = offer.market_listing_id;
  const isListingRight = named === null || (listingId !== null && named === Number(listingId));
  const rules: [path: keyof OfferOut, isRight: boolean, wanted: bigint | string][] = [
    ['id', offer.id === Number(expected.offerId), expected.offerId],
    ['thing_id', offer.thing_id === Number(expected.thingId), expected.thingId],
    ['seller', offer.seller === expected.seller, expected.seller],
    ['seller_wallet', offer.seller_wallet.toLowerCase() === expected.sellerWallet, expected.sellerWallet],
    ['price_usdc', unitsOfUsdc(offer.price_usdc) === expected.priceUnits, usdcText(expected.priceUnits)],
    ['market_origin', offer.market_origin === expected.marketOrigin, expected.marketOrigin],
    ['chain_id', offer.chain_id === Number(expected.chainId), expected.chainId],
    ['market_draft_id', offer.market_draft_id === Number(expected.draftId), expected.draftId],
    ['market_listing_id', isListingRight, listingId === null ? 'null' : `${listingId} or null`],
  ];
  return rules.flatMap(([path, isRight, wanted]) => (isRight ? [] : [{ path, message: `must be ${wanted}` }]));
}
