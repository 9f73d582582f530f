import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { findByAuthorization, findByToken, findHolding, type Payment } from '../payments/store.ts';
import type { BuyRequest } from './buy-request.ts';

/** Step one of W7: the payment to which the proof or the delivery token belongs, whatever became of the listing. */
export async function findInLedger(market: Market, request: BuyRequest): Promise<Payment | null> {
  const { proof, tokenHash, listingId } = request;
  const { network } = market.config;
  if (proof !== null) {
    const { from: payer, nonce } = proof.authorization;
    const key = { chainId: network.chainId, asset: network.usdc, payer, nonce };
    const payment = await findByAuthorization(market.database, key);
    if (payment !== null && payment.listingId !== listingId) throw new Refusal('payment_bound_elsewhere');
    if (payment !== null) return payment;
  }
  if (tokenHash === null) return null;
  const payment = await findByToken(market.database, tokenHash);
  // Going on to a 402 here would ask for money from somebody who may have paid.
  if (payment === null || payment.listingId !== listingId) {
    throw new Refusal('payment_not_found', { detail: 'The delivery token belongs to no payment for this listing.' });
  }
  return payment;
}

/** Steps two and three: what this merchant or this payer has paid, or is paying, for the listing; completed ones first. */
export async function findHeld(market: Market, request: BuyRequest, signedBy: Hex | null): Promise<Payment[]> {
  const { database } = market;
  const { listingId, merchant } = request;
  const ofMerchant = merchant && (await findHolding(database, listingId, { merchantId: merchant.id }));
  const ofPayer = signedBy && (await findHolding(database, listingId, { payer: signedBy }));
  const held = [ofMerchant, ofPayer].filter((payment) => payment !== null);
  return held.sort((a, b) => Number(b.status === 'completed') - Number(a.status === 'completed'));
}
