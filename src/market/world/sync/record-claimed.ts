import { usdcOfUnits } from '../../../contract/money.ts';
import type { ListingState } from '../../../contract/vocabulary.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import type { FoundTransfer } from '../../../platform/chain/sighting.ts';
import type { Tx } from '../../../platform/database/database.ts';
import type { Market } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { isHalted } from '../../payments/head/store.ts';
import type { Payments } from '../../payments/payments.ts';
import { insertCityProof } from '../../payments/proofs/store.ts';
import { shareHistories } from '../../purchases/lock-histories.ts';
import { type Checkout, closeCheckouts, completeCheckout } from '../checkouts/store.ts';
import { unusable } from '../city/fetch-city.ts';
import { findClaimedCheckout } from '../lost/find-lost-checkout.ts';
import { putCheckout } from '../lost/store.ts';
import { decideSale, type SaleDecision, type SaleEvidence, type SaleTerms } from './decide-sale.ts';
import { endBy } from './end-unsold.ts';
import { gatherSale } from './gather-sale.ts';
import { type CityClaim, judgeReservation, readClaim } from './read-claim.ts';
import {
  insertCityPurchase,
  lockWorldListing,
  notePhase,
  noteReview,
  setListingState,
  type WorldListing,
} from './store.ts';

/**
 * The city calls the offer claimed. Recorded as a sale once the market sees the same transfer, final and fitting, with its own eyes; as
 * a review where the final transaction breaks a term. Until then it changes nothing but the phase. A checkout that was lost is no broken
 * term: nothing is decided until its buyer is known.
 */
export async function recordClaimed(
  market: Market,
  payments: Payments,
  listing: WorldListing,
  offer: OfferOut,
): Promise<void> {
  const { database, clock } = market;
  const claim = readClaim(offer, clock.now());
  if (claim === null) throw unusable(market, 'a claimed offer that does not say by whom, how or when');
  await notePhase(database, listing.id, 'claimed', new Date(clock.now()));
  const { checkout, isLost } = await findClaimedCheckout(database, listing, claim);
  if (isLost && checkout === null) return;
  const terms = saleTerms(market, listing, claim, checkout);
  const evidence = await gatherSale(market, payments, { listingId: listing.id, txHash: claim.txHash, terms });
  if (evidence === null) return;
  const decision = decideSale(evidence, terms);
  tellContradiction(market, listing, decision);
  if (decision.outcome === 'unknown') return;
  market.crashPoint('after_final_before_delivery');
  await database.transaction((tx) => endClaimed(tx, market, listing.id, { claim, evidence }));
}

function saleTerms(market: Market, listing: WorldListing, claim: CityClaim, checkout: Checkout | null): SaleTerms {
  const { network } = market.config;
  const seconds = (ms: number): bigint => BigInt(Math.floor(ms / 1_000));
  return {
    chainId: network.chainId,
    asset: network.usdc,
    payer: claim.buyerWallet,
    payee: listing.sellerWallet,
    minimumUnits: listing.priceUnits,
    windowFrom: seconds(claim.reservedAt),
    windowTo: seconds(claim.reservedUntil),
    fault: judgeReservation(claim, listing, checkout),
  };
}

function tellContradiction({ log }: Market, { id }: WorldListing, decision: SaleDecision): void {
  if (decision.outcome !== 'unknown') return;
  const { why } = decision;
  if (why === 'contradiction' || why === 'wrong_chain') log.error('world_sale_contradicts', { listing_id: id, why });
}

/** Decided once more under the lock of the listing: since the chain was read, another process may have ended it or payments been halted. */
async function endClaimed(
  tx: Tx,
  market: Market,
  listingId: bigint,
  { claim, evidence }: { claim: CityClaim; evidence: SaleEvidence },
): Promise<void> {
  const end = endBy(await lockWorldListing(tx, listingId), 'world_sale');
  if (end === null || (await isHalted(tx, market.config.network.chainId))) return;
  const { listing, state } = end;
  const { checkout, isLost } = await findClaimedCheckout(tx, listing, claim);
  if (isLost && checkout === null) return;
  const decision = decideSale(evidence, saleTerms(market, listing, claim, checkout));
  const now = new Date(market.clock.now());
  const review = (reason: string) => noteReview(tx, listingId, reason, claim.txHash, now);
  if (decision.outcome === 'review') return await review(decision.reason);
  if (decision.outcome === 'unknown' || checkout === null) return;
  const { transfer } = decision;
  if (!(await insertCityProof(tx, listingId, transfer, now))) return await review('transaction_used');
  if (isLost) await putCheckout(tx, checkout);
  await sell(tx, market, { listing, state, checkout, claim, transfer, now });
}

interface Selling {
  listing: WorldListing;
  state: ListingState;
  checkout: Checkout;
  claim: CityClaim;
  transfer: FoundTransfer;
  now: Date;
}

async function sell(tx: Tx, market: Market, selling: Selling): Promise<void> {
  const { listing, checkout, claim, transfer, now } = selling;
  await shareHistories(tx, listing.merchantId, checkout.merchantId);
  const sale = { listing, checkoutId: checkout.id, buyerId: checkout.merchantId, payer: claim.buyerWallet, transfer };
  await insertCityPurchase(tx, { ...sale, claimedAt: claim.claimedAt }, now);
  await setListingState(tx, listing.id, selling.state);
  await completeCheckout(tx, checkout.id);
  await closeCheckouts(tx, listing.id);
  await recordEvent(tx, market, {
    kind: 'world_sale',
    actor: checkout.marketBuyer,
    detail: {
      listing_id: Number(listing.id),
      merchant_id: Number(listing.merchantId),
      offer_id: Number(listing.offerId),
      paid_usdc: usdcOfUnits(transfer.value),
      verified_via: 'city',
      tx_hash: transfer.txHash,
    },
  });
}
