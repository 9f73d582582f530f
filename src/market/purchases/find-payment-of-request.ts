import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { Payment } from '../payments/payment.ts';
import { findByAuthorization, findByToken, findHoldings } from '../payments/store.ts';
import type { BuyRequest } from './buy-request.ts';

/** Step one of W7: the payment to which the proof or the delivery token belongs, whatever became of the listing. */
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
  return payment?.listingId === listingId && isMeant(request, payment) ? payment : null;
}

/** A token that a client has made is meant for the payment that its own proof opens: with another wallet's proof it is of no use. */
function isMeant({ proof, token, collectOnly }: BuyRequest, { payer }: Payment): boolean {
  return proof === null || collectOnly || token?.form !== 'own' || proof.authorization.from === payer;
}

/** Who a request is known to come from: by a fresh signature, or only by an old proof that ended unpaid, which proves nothing. */
export interface Payer {
  signedBy: Hex | null;
  lapsedPayer: Hex | null;
}

/**
 * Steps two and three: what this merchant or this payer has paid, or is paying, for the listing. Completed ones first, and of those
 * the one whose payer signed: a merchant's own purchase may need another signature than the one that came.
 */
export async function findHeld(market: Market, request: BuyRequest, by: Payer): Promise<Payment[]> {
  const { database } = market;
  const { listingId, merchant } = request;
  const payer = by.signedBy ?? by.lapsedPayer;
  if (merchant === null && payer === null) return [];
  const held = await findHoldings(database, listingId, { merchantId: merchant?.id ?? null, payer });
  const rank = (payment: Payment): number => {
    if (payment.status !== 'completed') return 2;
    return payment.payer === by.signedBy ? 0 : 1;
  };
  const isOthers = ({ merchantId }: Payment): number => Number(merchant === null || merchantId !== merchant.id);
  return held.sort((a, b) => rank(a) - rank(b) || isOthers(a) - isOthers(b));
}
