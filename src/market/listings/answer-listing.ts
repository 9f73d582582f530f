import { checksummed } from '../../contract/chain-values.ts';
import type { AnswerOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { ListingDetail } from '../../contract/listings.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { readListingDetail } from '../catalog/present-listing.ts';
import type { Market } from '../context.ts';
import { pathOf } from '../payments/paths/payment-paths.ts';
import type { Payment } from '../payments/payment.ts';
import { settlementHeaders, slipField } from '../payments/present-payment.ts';
import { findPayment } from '../payments/store.ts';
import { countCredits, findListingOfFee } from './fees/store.ts';
import type { ListedKind } from './list-request.ts';
import { findFeeOfListing, noteAnswered } from './store.ts';

/** Warns sellers, because a plain transfer does not name a market. */
const ONE_WALLET_ONE_MARKET =
  'Buyers are matched by wallet and amount. If another market lists goods with the same seller_wallet and price, a buyer can claim one plain transfer on both, and both hand out goods. Use a wallet that sells on this market alone.';

export type ListAnswer = AnswerOf<Endpoints['listWorld']>;

/** Answers 201 if no earlier answer named the listing to its merchant, otherwise 200. Charges nothing. */
export async function answerCreated(market: Market, listingId: bigint): Promise<ListAnswer> {
  const { database } = market;
  const listing = await readListingDetail(database, listingId);
  if (listing === null) throw new TypeError('a listing that was just made is gone');
  const fee = await findFeeOfListing(database, listingId);
  const payment = fee && (await findPayment(database, fee.payment_id));
  const body = {
    listing_id: Number(listingId),
    url: `${market.config.baseUrl}/api/listing/${listingId}`,
    listing,
    seller_notice: listing.price_usdc === 0 ? null : ONE_WALLET_ONE_MARKET,
    fee: {
      amount_usdc: fee === null ? 0 : usdcOfUnits(fee.amount_units),
      tx_hash: fee && toHex(fee.tx_hash),
      verified_via: fee?.verified_via ?? ('free' as const),
    },
    ...(payment === null ? {} : slipField(market, payment)),
  };
  const first = await noteAnswered(database, listingId, new Date(market.clock.now()));
  const headers =
    fee === null || payment === null
      ? {}
      : settlementHeaders(market.config.network, toHex(fee.tx_hash), checksummed(payment.payer));
  return { status: first ? 201 : 200, body, headers };
}

/** Answers with the listing that a completed fee made. Returns null if the fee became a credit instead. */
export async function answerCompletedFee(market: Market, payment: Payment): Promise<ListAnswer | null> {
  market.crashPoint('after_commit_before_answer');
  const listingId = await findListingOfFee(market.database, payment.id);
  return listingId === null ? null : await answerCreated(market, listingId);
}

/** Builds the refusal for a paid fee that made no listing: it is a credit, or another listing has spent it. */
export async function refuseWithoutListing(
  market: Market,
  payment: Payment,
  { noun, unlistable }: ListedKind,
): Promise<Refusal> {
  const { merchantId } = payment;
  if (merchantId === null || (await countCredits(market.database, merchantId)) === 0n) {
    return new Refusal(pathOf(payment).present.spentReason, { detail: 'That fee was spent on another listing.' });
  }
  return new Refusal(unlistable, {
    detail: `The fee is paid and kept as a credit: it pays for ${noun} that can be listed.`,
    doNotPayAgain: true,
  });
}

export async function answerListing(
  market: Market,
  id: bigint,
): Promise<{ status: 200; body: { listing: ListingDetail } }> {
  const listing = await readListingDetail(market.database, id);
  if (listing === null) throw new TypeError('a listing that was just changed is gone');
  return { status: 200, body: { listing } };
}
