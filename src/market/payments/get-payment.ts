import type { Endpoints } from '../../contract/index.ts';
import { isHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { findWatermark } from './head/store.ts';
import type { Payments } from './payments.ts';
import { presentPayment } from './present-payment.ts';
import { findByAuthorization, findPayment, findProof, type Payment } from './store.ts';

type StatusCall = MarketCall<Endpoints['getPayment']>;

/** GET /api/payment: public, never looks at who asks. By transaction only once it proves something here (W9). */
export function makeGetPayment(payments: Payments): MarketOperation<Endpoints['getPayment']> {
  return async (market, call) => {
    const payment = await find(market, call);
    if (payment === null) throw new Refusal('payment_not_found');
    const watermark = await findWatermark(market.database, payment.chainId);
    const listingId = await payments.listingOf(payment);
    return { status: 200, body: { payment: presentPayment(payment, watermark, listingId, market.clock.now()) } };
  };
}

async function find(market: Market, call: StatusCall): Promise<Payment | null> {
  const { tx_hash: txHash, payer, nonce } = call.query;
  const { network } = market.config;
  if (txHash !== undefined) {
    const proof = await findProof(market.database, { txHash });
    return proof && (await findPayment(market.database, proof.paymentId));
  }
  const wallet = payer?.toLowerCase();
  if (!isHex(wallet, 20) || nonce === undefined) throw new Refusal('payment_not_found');
  return await findByAuthorization(market.database, {
    chainId: network.chainId,
    asset: network.usdc,
    payer: wallet,
    nonce,
  });
}
