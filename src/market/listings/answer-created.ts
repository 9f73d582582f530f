import { checksummed } from '../../contract/chain-values.ts';
import type { AnswerOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { toHex } from '../../platform/hex.ts';
import { readListingDetail } from '../catalog/read-listing-detail.ts';
import type { Market } from '../context.ts';
import { settlementHeaders, slipIn } from '../payments/answer-pending.ts';
import { findPayment } from '../payments/store.ts';
import { findFeeOfListing, noteAnswered } from './store.ts';

/** Said where a seller reads it: nothing in a plain transfer names a market. */
export const ONE_WALLET_ONE_MARKET =
  'Buyers are matched by wallet and amount. If another market lists goods with the same seller_wallet and price, a buyer can claim one plain transfer on both, and both hand out goods. Use a wallet that sells on this market alone.';

/** Of a request to list that is no dry run, whatever is listed. */
export type ListAnswer = AnswerOf<Endpoints['listWorld']>;

/** 201 goes to the first answer that names the listing, 200 to every later one; neither charges anything. */
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
    ...(payment === null ? {} : slipIn(market, payment)),
  };
  const first = await noteAnswered(database, listingId, new Date(market.clock.now()));
  const headers =
    fee === null || payment === null
      ? {}
      : settlementHeaders(market.config.network, toHex(fee.tx_hash), checksummed(payment.payer));
  return { status: first ? 201 : 200, body, headers };
}
