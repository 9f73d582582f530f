import type { Endpoints } from '../../../contract/index.ts';
import { usdcOfUnits } from '../../../contract/money.ts';
import type { ListingState } from '../../../contract/vocabulary.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import { readBlock, readLogs, readReceipt } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { type FoundTransfer, isStillFinal } from '../../../platform/chain/sighting.ts';
import { addressTopic, decodeAuthorizationUsed, TRANSFER_TOPIC } from '../../../platform/chain/usdc.ts';
import type { Tx } from '../../../platform/database/database.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { Market, MarketOperation } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import type { ChainHead } from '../../payments/chain/read-head.ts';
import { isHalted } from '../../payments/chain/store.ts';
import { hasAuthorization } from '../../payments/paths/direct/store.ts';
import type { Payments } from '../../payments/payments.ts';
import { insertCityProof } from '../../payments/proof-store.ts';
import { lockHistoriesShared } from '../../purchases/store.ts';
import { CityUnavailable, cityOrigin, type OfferDifference, unusableAnswer } from '../city.ts';
import { type Checkout, closeCheckouts, completeCheckout, hasCheckout, restoreCheckout } from '../store.ts';
import {
  type CityClaim,
  decideSale,
  findClaimedCheckout,
  judgeReservation,
  readClaim,
  type SaleDecision,
  type SaleEvidence,
  type SaleTerms,
} from './decide-sale.ts';
import { endCanceled, endIfStale, findThingListing, nextStateBy, readListedOffer } from './listed-offer.ts';
import { presentSync, type SyncAnswer } from './present-sync.ts';
import {
  findSale,
  insertCityPurchase,
  lockWorldListing,
  markInReview,
  noteDifference,
  notePhase,
  setListingState,
  type WorldListing,
} from './store.ts';

/** POST /api/world/sync/:listing_id. Any key may call it, because the answer is public and the background job does the same. */
export function makeSyncWorld(payments: Payments): MarketOperation<Endpoints['syncWorld']> {
  return async (market, call) => {
    cityOrigin(market);
    return { status: 200, body: await syncListing(market, payments, call.params.listing_id) };
  };
}

/** Checks a listing's offer, records the result and returns the status. Sold, canceled and reviewed ones are answered from our records. */
export async function syncListing(market: Market, payments: Payments, listingId: bigint): Promise<SyncAnswer> {
  const listing = await findThingListing(market, listingId);
  const mayBePaid = await mayHaveBeenPaid(market, listing);
  if (!isEnded(listing)) await checkOffer(market, payments, listing, mayBePaid);
  const after = await findThingListing(market, listingId);
  const sale = after.state === 'sold' ? await findSale(market.database, listingId) : null;
  // Check again, so that a caller who repeats the request at once gets the same answer.
  return presentSync(after, sale, await mayHaveBeenPaid(market, after));
}

function isEnded({ state, reviewReason }: WorldListing): boolean {
  return state === 'sold' || state === 'canceled' || reviewReason !== null;
}

/** Whether a buyer may have paid: the city reported a reservation, or a checkout was opened here, without which nobody can reserve. */
async function mayHaveBeenPaid({ database }: Market, { id, phase }: WorldListing): Promise<boolean> {
  return (phase !== 'listed' && phase !== 'canceled') || (await hasCheckout(database, id));
}

async function checkOffer(
  market: Market,
  payments: Payments,
  listing: WorldListing,
  mayBePaid: boolean,
): Promise<void> {
  try {
    const shown = await readListedOffer(market, listing);
    if ('differences' in shown) return await noteDifferentOffer(market, listing, shown.differences);
    const { offer } = shown;
    if (offer.phase === 'canceled') return await endCanceled(market, listing.id);
    if (offer.phase === 'claimed') return await recordClaimed(market, payments, listing, offer);
    await notePhase(market.database, listing.id, offer.phase, new Date(market.clock.now()));
  } catch (error) {
    throw error instanceof CityUnavailable && mayBePaid ? error.afterPayment() : error;
  }
}

/** Records a different or missing offer. The listing ends only if that lasts. */
async function noteDifferentOffer(
  market: Market,
  listing: WorldListing,
  differences: OfferDifference[],
): Promise<void> {
  const { id } = listing;
  await noteDifference(market.database, id, new Date(market.clock.now()));
  await endIfStale(market, id);
  if ((await findThingListing(market, id)).state === 'stale') return;
  const detail = 'The city shows another offer than the one that was listed, or none. If that lasts, the listing ends.';
  throw new CityUnavailable('differs', { detail, errors: differences });
}

/**
 * Handles an offer that the city calls claimed. Once the market itself reads the same transfer as final, it records a sale, or a review
 * if the transfer breaks a term. Until then only the phase changes. A lost checkout breaks no term, but nothing is decided until its buyer
 * is known.
 */
async function recordClaimed(
  market: Market,
  payments: Payments,
  listing: WorldListing,
  offer: OfferOut,
): Promise<void> {
  const { database, clock } = market;
  const claim = readClaim(offer, clock.now());
  if (claim === null) throw unusableAnswer(market, 'a claimed offer that does not say by whom, how or when');
  await notePhase(database, listing.id, 'claimed', new Date(clock.now()));
  const { checkout, isLost } = await findClaimedCheckout(database, listing, claim);
  if (isLost && checkout === null) return;
  const terms = saleTerms(market, listing, claim, checkout);
  const evidence = await gatherSale(market, payments, { listingId: listing.id, txHash: claim.txHash, terms });
  if (evidence === null) return;
  const decision = decideSale(evidence, terms);
  logContradiction(market, listing, decision);
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

function logContradiction({ log }: Market, { id }: WorldListing, decision: SaleDecision): void {
  if (decision.outcome !== 'unknown') return;
  const { why } = decision;
  if (why === 'contradiction' || why === 'wrong_chain') log.error('world_sale_contradicts', { listing_id: id, why });
}

/** Decides again under the listing's lock, because another process may have ended the listing, or halted payments, meanwhile. */
async function endClaimed(
  tx: Tx,
  market: Market,
  listingId: bigint,
  { claim, evidence }: { claim: CityClaim; evidence: SaleEvidence },
): Promise<void> {
  const end = nextStateBy(await lockWorldListing(tx, listingId), 'world_sale');
  if (end === null || (await isHalted(tx, market.config.network.chainId))) return;
  const { listing, state } = end;
  const { checkout, isLost } = await findClaimedCheckout(tx, listing, claim);
  if (isLost && checkout === null) return;
  const decision = decideSale(evidence, saleTerms(market, listing, claim, checkout));
  const now = new Date(market.clock.now());
  const review = (reason: string) => markInReview(tx, listingId, { reason, txHash: claim.txHash, now });
  if (decision.outcome === 'review') return await review(decision.reason);
  if (decision.outcome === 'unknown' || checkout === null) return;
  const { transfer } = decision;
  if (!(await insertCityProof(tx, listingId, transfer, now))) return await review('transaction_used');
  if (isLost) await restoreCheckout(tx, checkout);
  await recordSale(tx, market, { listing, state, checkout, claim, transfer, now });
}

interface CheckedSale {
  listing: WorldListing;
  state: ListingState;
  checkout: Checkout;
  claim: CityClaim;
  transfer: FoundTransfer;
  now: Date;
}

async function recordSale(tx: Tx, market: Market, checked: CheckedSale): Promise<void> {
  const { listing, checkout, claim, transfer, now } = checked;
  await lockHistoriesShared(tx, listing.merchantId, checkout.merchantId);
  const sale = { listing, checkoutId: checkout.id, buyerId: checkout.merchantId, payer: claim.buyerWallet, transfer };
  await insertCityPurchase(tx, { ...sale, claimedAt: claim.claimedAt }, now);
  await setListingState(tx, listing.id, checked.state);
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

type SyncContext = Pick<Market, 'database' | 'log'>;
type ChainReads = Pick<Payments, 'readHead' | 'corroborate'>;

/**
 * Reads the transaction from the leading provider, independently of the city. Evidence that would decide must be confirmed by the
 * other providers; otherwise it decides nothing. Null if the chain cannot be read.
 */
async function gatherSale(
  market: SyncContext,
  chain: ChainReads,
  sale: { listingId: bigint; txHash: Hex; terms: SaleTerms },
): Promise<SaleEvidence | null> {
  const { listingId, txHash, terms } = sale;
  try {
    const head = await chain.readHead();
    const evidence = await readSale(market, head, txHash, terms);
    if (decideSale(evidence, terms).outcome === 'unknown') return evidence;
    // Negative, because the sale has no payment row and ids of payments are positive.
    const subject = { id: -listingId, asset: terms.asset };
    const isCertain = (await chain.corroborate(head, subject, evidence)) && (await isStillFinal(head.rpc, head));
    return isCertain ? evidence : { ...evidence, finalized: null };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('world_sale_unreadable', { listing_id: listingId, error });
    return null;
  }
}

async function readSale(
  { database }: SyncContext,
  { rpc, chainId, finalized }: ChainHead,
  txHash: Hex,
  terms: SaleTerms,
): Promise<SaleEvidence> {
  const receipt = await readReceipt(rpc, txHash);
  const baseEvidence = { chainId, finalized, receipt, block: null, transfersInBlock: [], isOfLedger: false };
  if (receipt === null) return baseEvidence;
  const { asset, payee } = terms;
  const topics = [TRANSFER_TOPIC, null, addressTopic(payee)];
  const [block, transfersInBlock] = await Promise.all([
    readBlock(rpc, receipt.blockNumber),
    readLogs(rpc, { address: asset, topics, blockHash: receipt.blockHash }),
  ]);
  const used = receipt.logs.flatMap((log) => (log.address === asset ? (decodeAuthorizationUsed(log) ?? []) : []));
  const isOfLedger = await hasAuthorization(database, terms, used);
  return { ...baseEvidence, block, transfersInBlock, isOfLedger };
}
