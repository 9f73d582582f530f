import type { Endpoints } from '../../contract/index.ts';
import type { Queryable } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { takeIntentQuota } from '../limits/quotas.ts';
import { mustBeOnNetwork, mustNotBeLost } from '../listings/listing-checks.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { findListingTerms, isSellerWallet, type ListingTerms, shareListing } from '../listings/store.ts';
import {
  type IntentTerms,
  mustNotBeTransferred,
  openIntent,
  presentIntentTerms,
  readIntentTime,
  shownAgain,
} from '../payments/paths/direct/intents.ts';
import { undecidedRefusal } from '../payments/paths/direct/name-transaction.ts';
import type { Payments } from '../payments/payments.ts';
import { findPaidOrPending } from '../payments/store.ts';
import { mustBeGoods } from './buy-request.ts';
import { isEntitled } from './collecting.ts';

const NEXT =
  'Sign challenge with the wallet that pays (personal_sign), send at least minimum_amount_units of the asset from it to seller_wallet before expires_at, then POST /api/claim/:id.';

/** POST /api/purchase-intent/:id (W8). An intent that is not claimed blocks no buyer and costs nothing. */
export function makeOpenPurchaseIntent(payments: Payments): MarketOperation<Endpoints['openPurchaseIntent']> {
  return async (market, call) => {
    const { caller: merchant } = call;
    const payer = call.body.payer_wallet ?? null;
    const listing = await findListingTerms(market.database, call.params.id);
    if (listing === null) {
      await mustNotBeLost(market.database, call.params.id);
      throw new Refusal('listing_unavailable');
    }
    mustBeGoods(listing);
    await checkBuyer(market.database, market, listing, { merchant, payer });
    await takeIntentQuota(
      market,
      { ...call, merchant },
      shownAgain(market, { merchant, terms: termsOf(listing), payer }),
    );
    await mustNotBeTransferred(market, payments.readHead, termsOf(listing), call.body);
    await payments.payees.mustReceive(listing.sellerWallet);
    const createdAt = await readIntentTime(market, payments.readHead);
    const { intent, isNew } = await market.database.transaction(async (tx) => {
      const shared = await shareListing(tx, listing.id);
      if (shared === null) throw new Refusal('listing_unavailable');
      await tx.lock(`intents:${merchant.id}:${listing.id}`);
      await checkBuyer(tx, market, shared, { merchant, payer });
      return await openIntent(tx, market, { merchant, terms: termsOf(shared), payer, createdAt });
    });
    const shown = { ...presentIntentTerms(market, intent, merchant, NEXT), listing_id: Number(listing.id) };
    return { status: isNew ? 201 : 200, body: { purchase_intent: shown } };
  };
}

function termsOf({ id, sellerWallet, priceUnits }: ListingTerms): IntentTerms {
  return { purpose: 'purchase', listingId: id, payee: sellerWallet, minimumUnits: priceUnits };
}

/** A buyer must not pay for what an earlier purchase entitles to. */
function free({ id }: ListingTerms): Refusal {
  return new Refusal('free_listing', {
    detail: `An older version of this listing was bought before: POST /api/buy/${id} delivers this one without a payment.`,
    nextStep: `Send POST /api/buy/${id} with the key, or with a proof of the wallet, that bought the older version. Such a proof is not settled.`,
  });
}

/** What was bought or is being paid comes first: an ended listing never hides it. */
async function checkBuyer(
  queryable: Queryable,
  market: Market,
  listing: ListingTerms,
  { merchant, payer }: { merchant: Merchant; payer: Hex | null },
): Promise<void> {
  const known =
    (await findPaidOrPending(queryable, listing.id, { merchantId: merchant.id })) ??
    (payer && (await findPaidOrPending(queryable, listing.id, { payer })));
  if (known?.status === 'completed') throw new Refusal('purchase_exists');
  if (known) throw await undecidedRefusal(queryable, market, known, merchant);
  if (await isEntitled(queryable, listing, { merchantId: merchant.id, payer })) throw free(listing);
  mustStep(listing, 'buy');
  mustBeOnNetwork(market, listing);
  if (listing.merchantId === merchant.id) throw new Refusal('own_goods');
  if (payer !== null && (await isSellerWallet(queryable, listing.merchantId, payer))) {
    throw new Refusal('own_goods', { detail: 'The payer is a wallet to which this merchant sells.' });
  }
  if (listing.priceUnits === 0n) throw new Refusal('free_listing');
}
