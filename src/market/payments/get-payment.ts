import type { Endpoints } from '../../contract/index.ts';
import type { PaymentOut } from '../../contract/payments.ts';
import { isHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { findWatermark } from './chain/store.ts';
import { findClaim, findIntent } from './paths/direct/store.ts';
import type { Payment } from './payment.ts';
import type { Payments } from './payments.ts';
import { presentCitySale, presentIntent, presentPayment } from './present-payment.ts';
import { findProof } from './proof-store.ts';
import { findByAuthorization, findPayment } from './store.ts';

type StatusCall = MarketCall<Endpoints['getPayment']>;

/** GET /api/payment: public, never looks at who asks. By transaction only once it proves something here (W9); a refund shows the payment that it gives back. */
export function makeGetPayment(payments: Payments): MarketOperation<Endpoints['getPayment']> {
  return async (market, call) => {
    const sale = await findCitySale(market, call);
    if (sale !== null) return { status: 200, body: { payment: sale } };
    const intent = call.query.intent_id === undefined ? null : await findIntent(market.database, call.query.intent_id);
    const payment = intent === null ? await find(market, call) : await findClaim(market.database, intent.id);
    if (intent !== null && payment === null) {
      const watermark = await findWatermark(market.database, intent.chainId);
      return { status: 200, body: { payment: presentIntent(intent, watermark) } };
    }
    if (payment === null) throw new Refusal('payment_not_found');
    const watermark = await findWatermark(market.database, payment.chainId);
    const listingId = await payments.listingOf(payment);
    return { status: 200, body: { payment: presentPayment(payment, watermark, listingId, market.clock.now()) } };
  };
}

/** The sale of a thing is paid in the city: the ledger here has no payment for it, and its proof says all there is to say. */
async function findCitySale(market: Market, { query }: StatusCall): Promise<PaymentOut | null> {
  const proof = query.tx_hash === undefined ? null : await findProof(market.database, { txHash: query.tx_hash });
  if (proof?.worldListingId == null) return null;
  return presentCitySale(
    proof,
    proof.worldListingId,
    await findWatermark(market.database, market.config.network.chainId),
  );
}

async function find(market: Market, call: StatusCall): Promise<Payment | null> {
  const { tx_hash: txHash, payer, nonce } = call.query;
  const { network } = market.config;
  if (txHash !== undefined) {
    const proof = await findProof(market.database, { txHash });
    return proof?.paymentId ? await findPayment(market.database, proof.paymentId) : null;
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
