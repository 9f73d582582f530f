import type { Endpoints } from '../../contract/index.ts';
import type { Budget, Reservation } from '../../platform/budget.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, Merchant } from '../context.ts';
import { clientOf } from '../limits/budgets.ts';
import type { ListingTerms } from '../listings/store.ts';
import { readProof } from '../payments/paths/x402/read-proof.ts';
import type { Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { findAllPaidOrPending, findByAuthorization, findByToken } from '../payments/store.ts';
import type { Proof, Terms } from '../payments/terms.ts';
import { readToken, type SentToken } from './delivery-token.ts';

export interface BuyRequest {
  listingId: bigint;
  merchant: Merchant | null;
  proof: Proof | null;
  token: SentToken | null;
  /** X-Download-Token as sent. */
  downloadToken: string | null;
  maxPriceUnits: bigint | null;
  collectOnly: boolean;
  collectSalt: Hex | null;
  /** Sent with `collect`: the transaction that paid, if this market has lost its record of it. */
  txHash: Hex | null;
  /** Whether the buyer was told about a transfer that may be this payment and pays nevertheless. */
  payAnew: boolean;
  wantsBytes: boolean;
  clientNetwork: string;
  /** Call before a payment is opened. Throws if this caller has too many unverified attempts. */
  takeAttempt(): Reservation;
}

export interface BuyContext {
  market: Market;
  payments: Payments;
  request: BuyRequest;
  listing: ListingTerms;
}

export function readBuyRequest(
  { config }: Market,
  call: MarketCall<Endpoints['buyListing']>,
  attempts: Pick<Budget, 'take'>,
): BuyRequest {
  const { deliveryToken, downloadToken } = call.payment;
  const { max_price_usdc: maxPriceUnits, collect: collectOnly = false } = call.body;
  const { collect_salt: collectSalt, tx_hash: txHash } = call.body;
  const toCollect = { collect_salt: collectSalt, tx_hash: txHash, 'X-Download-Token': downloadToken ?? undefined };
  const unexpected = Object.entries(toCollect).filter(([, value]) => value !== undefined && !collectOnly);
  if (unexpected.length > 0) {
    throw new Refusal('invalid_fields', {
      errors: unexpected.map(([path]) => ({ path, message: 'goes with collect: true' })),
    });
  }
  return {
    listingId: call.params.id,
    merchant: call.caller,
    proof: readProof(call.payment),
    token: deliveryToken === null ? null : readToken(deliveryToken, config.keyPrefix),
    downloadToken,
    maxPriceUnits: maxPriceUnits ?? null,
    collectOnly,
    collectSalt: collectSalt ?? null,
    txHash: txHash ?? null,
    payAnew: call.body.pay_anew ?? false,
    wantsBytes: call.wantsBytes,
    clientNetwork: call.clientNetwork,
    takeAttempt: () => attempts.take(clientOf(call), 1),
  };
}

/** Returns the seller's terms. They contain no text by the merchant, because they go into headers and wallets. */
export function purchaseTerms(
  market: Pick<Market, 'config'>,
  listing: Pick<ListingTerms, 'id' | 'sellerWallet' | 'priceUnits'>,
): Terms {
  return {
    purpose: 'purchase',
    payee: listing.sellerWallet,
    valueUnits: listing.priceUnits,
    resource: `${market.config.baseUrl}/api/buy/${listing.id}`,
    description: `Listing ${listing.id}`,
  };
}

/** Rejects things, because they are sold in their city: this route neither charges for nor delivers them. */
export function mustBeGoods({ id, isThing }: Pick<ListingTerms, 'id' | 'isThing'>): void {
  if (!isThing) return;
  throw new Refusal('checkout_needed', {
    detail: `Listing ${id} is a thing of the city: POST /api/world/checkout/${id} opens the way to it.`,
  });
}

/** Finds the payment of this proof or delivery token, in any state of the listing. Must be the first step. */
export async function findInLedger(market: Market, request: BuyRequest): Promise<Payment | null> {
  const { proof, token, listingId } = request;
  const { network } = market.config;
  if (proof !== null) {
    const { from: payer, nonce } = proof.authorization;
    const key = { chainId: network.chainId, asset: network.usdc, payer, nonce };
    const payment = await findByAuthorization(market.database, key);
    if (payment !== null && payment.listingId !== listingId) throw new Refusal('payment_bound_elsewhere');
    if (payment !== null) return payment;
  }
  const payment = token && (await findByToken(market.database, token.hash));
  return payment?.listingId === listingId && isTokenMeantFor(request, payment) ? payment : null;
}

/** Returns false if a client-made token comes with another wallet's proof, because the token is for the payment that the proof opens. */
function isTokenMeantFor({ proof, token, collectOnly }: BuyRequest, { payer }: Payment): boolean {
  return proof === null || collectOnly || token?.form !== 'own' || proof.authorization.from === payer;
}

/** The payer of a request. Known by a fresh signature, or only by an old proof whose payment has ended, which proves nothing. */
interface KnownPayer {
  signedBy: Hex | null;
  ownPayer: Hex | null;
}

/**
 * Finds this merchant's and this payer's payments for the listing, finished or under way. Completed ones come first, and of these the one
 * whose payer signed, because the merchant's own purchase may require a different signature.
 */
export async function findPaymentsOf(market: Market, request: BuyRequest, by: KnownPayer): Promise<Payment[]> {
  const { database } = market;
  const { listingId, merchant } = request;
  const payer = by.signedBy ?? by.ownPayer;
  if (merchant === null && payer === null) return [];
  const payments = await findAllPaidOrPending(database, listingId, { merchantId: merchant?.id ?? null, payer });
  const rankOf = (payment: Payment): number => {
    if (payment.status !== 'completed') return 2;
    return payment.payer === by.signedBy ? 0 : 1;
  };
  const otherRank = ({ merchantId }: Payment): number => Number(merchant === null || merchantId !== merchant.id);
  return payments.sort((a, b) => rankOf(a) - rankOf(b) || otherRank(a) - otherRank(b));
}
