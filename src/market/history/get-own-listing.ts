import type { Endpoints } from '../../contract/index.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { inSnapshot } from '../../platform/database/database.ts';
import { toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { readListingDetail } from '../catalog/present-listing.ts';
import type { MarketOperation } from '../context.ts';
import { findFeeOfListing } from '../listings/store.ts';
import { slipField } from '../payments/present-payment.ts';
import { findPayment } from '../payments/store.ts';
import { presentDownload } from './purchase-history.ts';
import { findOwnGoods } from './store.ts';

/** Returns everything about the caller's own listing. Everyone else, including the maintainer, gets not_found. */
export const getOwnListing: MarketOperation<Endpoints['getOwnListing']> = async (market, call) => {
  const { id } = call.params;
  // Read in one snapshot, because an edit replaces goods, salt and commitment together.
  const body = await inSnapshot(market.database, async (snapshot) => {
    const goods = await findOwnGoods(snapshot, { merchantId: call.caller.id, listingId: id });
    const listing = goods && (await readListingDetail(snapshot, id));
    if (goods === null || listing === null) throw new Refusal('not_found');
    const fee = await findFeeOfListing(snapshot, id);
    const payment = fee && (await findPayment(snapshot, fee.payment_id));
    return {
      listing,
      artifact: goods.content?.toString(goods.artifact_encoding === 'base64' ? 'base64' : 'utf8') ?? null,
      download: presentDownload(market, id, goods),
      artifact_encoding: goods.artifact_encoding,
      artifact_media_type: goods.artifact_media_type,
      artifact_filename: goods.artifact_filename,
      artifact_salt: goods.salt && toHex(goods.salt),
      fee: {
        amount_usdc: fee === null ? 0 : usdcOfUnits(fee.amount_units),
        tx_hash: fee && toHex(fee.tx_hash),
        verified_via: fee?.verified_via ?? ('free' as const),
      },
      ...(payment === null ? {} : slipField(market, payment)),
    };
  });
  return { status: 200, body };
};
