import { readBlock, readReceipt } from '../../platform/chain/reads.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { decodeTransfer } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import { isSellerWallet, type ListingTerms, lockListingShared } from '../listings/store.ts';
import { findHolder } from '../payments/paths/direct/further-store.ts';
import { makeIntent, readIntentTime } from '../payments/paths/direct/intents.ts';
import { nameTransaction } from '../payments/paths/direct/name-transaction.ts';
import { hasBought, insertClaim, insertIntent } from '../payments/paths/direct/store.ts';
import { endUnprovenOf, lockTransfer } from '../payments/paths/direct/unproven-store.ts';
import type { DirectPayment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { findProof, listLostWindows } from '../payments/proof-store.ts';
import { answerPayment } from './answer-payment.ts';
import type { BuyRequest } from './buy-request.ts';
import { collectorOf } from './collecting.ts';
import type { BuyAnswer } from './deliver.ts';

const EPOCH = new Date(0);

/** A transfer whose record the market has lost, and for which the buyer has no slip. */
interface NamedTransfer {
  request: BuyRequest;
  listing: ListingTerms;
  payer: Hex;
  txHash: Hex;
}

/**
 * Opens a claim for a payment that the market lost and whose buyer has no slip. The collecting signature replaces the signature of a
 * challenge. The transfer is older than the claim's intent, so it goes to review and only the payee can deliver. Returns null if another
 * payment of this buyer came first. Also works for withdrawn goods.
 */
export async function reviewLost(market: Market, payments: Payments, named: NamedTransfer): Promise<BuyAnswer | null> {
  const { request, listing, payer } = named;
  const merchant = await mustBeBuyer(market, named);
  const paidAt = await findInLostWindow(market, payments, named);
  const createdAt = await readIntentTime(market, payments.readHead);
  // A transfer within the intent's time window would be delivered without a review.
  if (createdAt.getTime() <= paidAt) throw new Refusal('chain_clock', { retryAfterSeconds: 5, doNotPayAgain: true });
  const claim = await openLostClaim(market, named, { merchant, createdAt });
  if (claim === null) return null;
  const answer = await answerPayment({ market, payments, request, listing }, claim, collectorOf(request, payer));
  if (answer === null) throw notFoundRefusal();
  return answer;
}

/** Requires a key, because the goods are later delivered to the merchant that owns the key. */
async function mustBeBuyer(market: Market, { request, listing, payer }: NamedTransfer): Promise<Merchant> {
  const { merchant } = request;
  if (listing.removedAt !== null) throw new Refusal('listing_removed');
  if (merchant === null) {
    throw new Refusal('key_required', {
      detail: 'The payee decides on it later, and the goods are collected with a key then.',
      nextStep: 'Joining is free: join, then send the same request with your key. Do not pay again.',
      doNotPayAgain: true,
    });
  }
  const isOwn =
    merchant.id === listing.merchantId || (await isSellerWallet(market.database, listing.merchantId, payer));
  if (isOwn) throw new Refusal('own_goods');
  return merchant;
}

/** Requires, before anything is stored, a transfer in a lost window that proves nothing else. Returns its block's time in milliseconds. */
async function findInLostWindow(
  market: Market,
  payments: Payments,
  { listing, payer, txHash }: NamedTransfer,
): Promise<number> {
  const { database, config } = market;
  const { usdc, chainId } = config.network;
  if ((await findProof(database, { txHash })) !== null) throw new Refusal('transaction_used');
  const windows = await listLostWindows(database, chainId, EPOCH);
  if (windows.length === 0) throw notFoundRefusal();
  try {
    const { rpc } = await payments.readHead();
    const receipt = await readReceipt(rpc, txHash);
    const isInLostWindow = windows.some(
      ({ fromBlock, toBlock }) =>
        receipt !== null && receipt.blockNumber >= fromBlock && receipt.blockNumber <= toBlock,
    );
    const transfers = receipt?.logs.flatMap((log) => (log.address === usdc ? (decodeTransfer(log) ?? []) : [])) ?? [];
    const block = receipt && isInLostWindow ? await readBlock(rpc, receipt.blockHash) : null;
    if (block !== null && transfers.some(({ from, to }) => from === payer && to === listing.sellerWallet)) {
      return Number(block.timestamp) * 1000;
    }
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2, doNotPayAgain: true });
  }
  throw notFoundRefusal();
}

/** A buyer who says that it has paid must never be told that paying is safe, because the provider may not have seen the transaction yet. */
function notFoundRefusal(): Refusal {
  return new Refusal('transfer_not_found', {
    doNotPayAgain: true,
    detail:
      'That transaction moved nothing from this wallet to the payee in blocks whose payments this market has lost.',
    nextStep: 'If another transaction paid, name that one; if it was this one, send the same request later.',
  });
}

function heldElsewhereRefusal(): Refusal {
  return new Refusal('transaction_used', {
    doNotPayAgain: true,
    detail: 'That transaction is claimed for an intent, and that is undecided.',
    nextStep: 'GET /api/payment shows where it stands. If it pays for nothing there, send the same request again.',
  });
}

async function openLostClaim(
  market: Market,
  { listing, payer, txHash }: NamedTransfer,
  { merchant, createdAt }: { merchant: Merchant; createdAt: Date },
): Promise<DirectPayment | null> {
  return await market.database.transaction(async (tx) => {
    const shared = await lockListingShared(tx, listing.id);
    if (shared === null) throw new TypeError('a claim for no listing');
    await lockTransfer(tx, txHash);
    const { id: listingId, sellerWallet: payee, priceUnits: minimumUnits } = shared;
    const terms = { purpose: 'purchase' as const, listingId, payee, minimumUnits };
    const intent = makeIntent(market, { merchant, terms, payer, isContract: false, createdAt });
    if ((await findHolder(tx, { txHash, payer, except: null })) !== null) throw heldElsewhereRefusal();
    const surplus = await hasBought(tx, listingId, { merchantId: merchant.id, payer });
    await insertIntent(tx, intent);
    const claim = await insertClaim(market, tx, { intent, payer, bodyHash: null, surplus });
    if (claim === null) return null;
    await nameTransaction(tx, market, claim, txHash);
    await endUnprovenOf(tx, { txHash, payer, payee }, 'proven', new Date(market.clock.now()));
    return claim;
  });
}
