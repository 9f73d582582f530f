import { CHECKOUT_MINUTES, RESERVATION_MINUTES } from '../../../contract/vocabulary.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import type { Block, Log, Receipt } from '../../../platform/chain/reads.ts';
import { type FoundTransfer, isInBlock, sameLogs, type TransferEvidence } from '../../../platform/chain/sighting.ts';
import { decodeTransfer, type Transfer } from '../../../platform/chain/usdc.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Hex, isHex } from '../../../platform/hex.ts';
import type { UnknownWhy } from '../../payments/paths/x402/decide.ts';
import { type Checkout, findCheckout, findLostBuyer, mayHaveBeenShown } from '../store.ts';
import type { WorldListing } from './store.ts';

/**
 * The leading provider's evidence on the transaction that claimed an offer. `finalized` is also null if the other providers did not confirm
 * evidence that would decide.
 */
export interface SaleEvidence extends TransferEvidence {
  /** Whether the transaction used the authorization of a payment in the ledger. If so, it belongs to that payment, whatever its status. */
  isOfLedger: boolean;
}

/** How the city's reservation contradicts our checkout. */
type ReservationFault = 'checkout_mismatch' | 'reservation_mismatch' | 'own_goods';

/** Terms of the transfer: price and payee from the listing, payer and window from the city's reservation. */
export interface SaleTerms {
  chainId: bigint;
  asset: Hex;
  payer: Hex;
  payee: Hex;
  minimumUnits: bigint;
  /** Unix seconds. The block's time must be at or after `windowFrom` and before `windowTo`. */
  windowFrom: bigint;
  windowTo: bigint;
  fault: ReservationFault | null;
}

/** Final reasons why a claimed offer is not recorded as a sale, although the city has given the thing away. */
type SaleReview =
  | ReservationFault
  | 'transfer_not_found'
  | 'wrong_payer'
  | 'amount_too_little'
  | 'outside_window'
  | 'transaction_used';

export type SaleDecision =
  | { outcome: 'sold'; transfer: FoundTransfer }
  | { outcome: 'review'; reason: SaleReview }
  | { outcome: 'unknown'; why: UnknownWhy };

/**
 * Decides on an offer that the city calls claimed. Pure. Returns `unknown` while evidence is missing, not final or contradictory, and while
 * the provider shows no such transaction, because a review is permanent and needs a final transaction.
 */
export function decideSale(evidence: SaleEvidence, terms: SaleTerms): SaleDecision {
  const { finalized, receipt, block } = evidence;
  if (evidence.chainId !== terms.chainId) return unknown('wrong_chain');
  if (receipt === null) return unknown('not_mined');
  if (!isInBlock(receipt, block)) return unknown('not_canonical');
  if (!sameLogs(receipt, evidence.transfersInBlock, (log) => findTransfer(log, terms) !== null))
    return unknown('contradiction');
  if (finalized === null) return unknown('no_finalized_head');
  if (receipt.blockNumber > finalized.number) return unknown('not_final');
  if (receipt.blockNumber === finalized.number && receipt.blockHash !== finalized.hash) return unknown('contradiction');
  if (receipt.status !== 'success') {
    // A failed transaction has no logs. One with logs may have moved money after all.
    return receipt.logs.length > 0 ? unknown('contradiction') : review('transfer_not_found');
  }
  if (evidence.isOfLedger) return review('transaction_used');
  if (terms.fault !== null) return review(terms.fault);
  return decideTransfers(receipt, block, terms);
}

function decideTransfers(receipt: Receipt, block: Block, terms: SaleTerms): SaleDecision {
  const received = receipt.logs.flatMap((log) => listPayments(log, terms));
  const own = received.filter(({ from }) => from === terms.payer);
  if (own.length === 0) {
    const byOther = received.some(({ value }) => value >= terms.minimumUnits);
    return review(byOther ? 'wrong_payer' : 'transfer_not_found');
  }
  // One log must reach the price; partial amounts are not added up.
  const enough = own.find(({ value }) => value >= terms.minimumUnits);
  if (enough === undefined) return review('amount_too_little');
  if (block.timestamp < terms.windowFrom || block.timestamp >= terms.windowTo) return review('outside_window');
  return {
    outcome: 'sold',
    transfer: {
      txHash: receipt.transactionHash,
      blockNumber: receipt.blockNumber,
      blockHash: receipt.blockHash,
      blockTime: block.timestamp,
      sender: receipt.from,
      logIndex: enough.logIndex,
      value: enough.value,
    },
  };
}

/** Skips transfers of 0, because anyone can send one in another's name. */
function listPayments(log: Log, terms: SaleTerms): (Transfer & { logIndex: number })[] {
  const transfer = findTransfer(log, terms);
  return transfer === null || transfer.value === 0n ? [] : [{ ...transfer, logIndex: log.logIndex }];
}

function findTransfer(log: Log, { asset, payee }: SaleTerms): Transfer | null {
  const transfer = log.address === asset ? decodeTransfer(log) : null;
  return transfer?.to === payee ? transfer : null;
}

function unknown(why: UnknownWhy): SaleDecision {
  return { outcome: 'unknown', why };
}

function review(reason: SaleReview): SaleDecision {
  return { outcome: 'review', reason };
}

/** Buyer and reservation of a claimed offer, according to the city alone. */
export interface CityClaim {
  buyer: string;
  marketBuyer: string;
  checkoutId: bigint;
  buyerWallet: Hex;
  txHash: Hex;
  /** Milliseconds. */
  reservedAt: number;
  reservedUntil: number;
  claimedAt: Date;
}

/** A claim's times are invalid if they are before EARLIEST_MS, or further in the future than AHEAD_MS. */
const EARLIEST_MS = Date.UTC(2020, 0, 1);
const AHEAD_MS = 86_400_000;

/** Returns null if the record says claimed but not by whom, how or when, or if its times are implausible. */
export function readClaim(offer: OfferOut, nowMs: number): CityClaim | null {
  const wallet = offer.buyer_wallet?.toLowerCase();
  const { buyer, market_buyer: marketBuyer, market_checkout_id: checkoutId, tx_hash: txHash } = offer;
  const times = [offer.reserved_at, offer.reserved_until, offer.claimed_at].map((time) => Date.parse(time ?? ''));
  const [reservedAt = 0, reservedUntil = 0, claimedAt = 0] = times;
  const isTimely = times.every((time) => time >= EARLIEST_MS && time <= nowMs + AHEAD_MS);
  if (!isHex(wallet, 20) || !isHex(txHash, 32) || !isTimely) return null;
  if (buyer === null || marketBuyer === null || checkoutId === null) return null;
  return {
    buyer,
    marketBuyer,
    checkoutId: BigInt(checkoutId),
    buyerWallet: wallet,
    txHash,
    reservedAt,
    reservedUntil,
    claimedAt: new Date(claimedAt),
  };
}

/** Allowed clock skew between the market and the city. The city uses the earlier of its own clock and the chain's. */
const MAX_CLOCK_SKEW_MS = 60_000;
const RESERVATION_MS = RESERVATION_MINUTES * 60_000;

/** Returns how the reservation contradicts the checkout. Null if they agree. Pure. */
export function judgeReservation(
  claim: CityClaim,
  listing: { id: bigint; sellerWallet: Hex },
  checkout: Checkout | null,
): ReservationFault | null {
  const isOfCheckout =
    checkout?.listingId === listing.id &&
    checkout.marketBuyer === claim.marketBuyer &&
    checkout.cityHandle === claim.buyer;
  if (!isOfCheckout) return 'checkout_mismatch';
  const { reservedAt, reservedUntil } = claim;
  if (reservedUntil - reservedAt !== RESERVATION_MS || reservedAt % 1_000 !== 0) return 'reservation_mismatch';
  const from = checkout.createdAt.getTime() - MAX_CLOCK_SKEW_MS;
  const to = checkout.expiresAt.getTime() + MAX_CLOCK_SKEW_MS;
  if (reservedAt <= from || reservedAt >= to) return 'reservation_mismatch';
  // A transfer from a wallet to itself is not a payment.
  return claim.buyerWallet === listing.sellerWallet ? 'own_goods' : null;
}

/** `isLost` is true if the market lost its record of the checkout. Then `checkout` is rebuilt from the city's reservation, or null. */
type ClaimedCheckout = { checkout: Checkout | null; isLost: boolean };

/**
 * Finds the checkout that a claimed offer names. A lost one is rebuilt from the city's reservation if the merchant names that resident
 * here; at worst, this records a transfer that is on the chain. `checkout` is null if nobody opened it, or its buyer is unknown or the
 * seller.
 */
export async function findClaimedCheckout(
  queryable: Queryable,
  listing: WorldListing,
  claim: CityClaim,
): Promise<ClaimedCheckout> {
  const checkout = await findCheckout(queryable, claim.checkoutId);
  if (checkout !== null) return { checkout, isLost: false };
  if (!(await mayHaveBeenShown(queryable, 'world_checkouts', claim.checkoutId))) return { checkout, isLost: false };
  const { marketBuyer, buyer: cityHandle } = claim;
  const createdAt = new Date(claim.reservedAt);
  const merchantId = await findLostBuyer(queryable, { marketBuyer, cityHandle, reservedAt: createdAt });
  const differsFromSeller = merchantId !== listing.merchantId && cityHandle !== listing.sellerHandle;
  if (merchantId === null || !differsFromSeller) return { checkout: null, isLost: true };
  const expiresAt = new Date(claim.reservedAt + CHECKOUT_MINUTES * 60_000);
  const own = { id: claim.checkoutId, listingId: listing.id, offerId: listing.offerId, merchantId };
  return {
    checkout: { ...own, marketBuyer, cityHandle, state: 'open', createdAt, expiresAt },
    isLost: true,
  };
}
