import type { Queryable, Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { PAYMENT_PATHS } from '../payments/paths/payment-paths.ts';
import type { Payment } from '../payments/payment.ts';
import { countOpenFees } from '../payments/store.ts';
import type { Proof } from '../payments/terms.ts';
import { type Checked, feeTerms, type ListRequest } from './list-request.ts';

/**
 * Commits, before anybody is asked: the attempt, and what is held for it, be it the place of goods or a draft. Null when another request
 * took the authorization or the body meanwhile: then that one is the answer.
 */
export async function openFee(
  market: Market,
  request: ListRequest,
  checked: Checked,
  { proof, openedBlock }: { proof: Proof; openedBlock: bigint },
): Promise<Payment | null> {
  return await market.database.transaction(async (tx) => {
    const { merchant } = request;
    await tx.lock(`fees:${merchant.id}`);
    await checkOpenFees(tx, market, merchant.id);
    const payment = await insertAttempt(tx, market, request, proof, openedBlock);
    if (payment === null) return null;
    await checked.hold(tx, payment);
    return payment;
  });
}

/** Asked before the 402 too: no merchant is asked to pay for what would then be refused. */
export async function checkOpenFees(queryable: Queryable, market: Market, merchantId: bigint): Promise<void> {
  const limit = market.config.limits.open_fee_attempts_per_merchant;
  if ((await countOpenFees(queryable, merchantId)) < limit) return;
  throw new Refusal('too_many_open_fees', { detail: `${limit} fees are undecided.`, retryAfterSeconds: 30 });
}

async function insertAttempt(
  tx: Tx,
  market: Market,
  request: ListRequest,
  proof: Proof,
  openedBlock: bigint,
): Promise<Payment | null> {
  const terms = feeTerms(market, request.subject);
  return await PAYMENT_PATHS.x402.open(market, tx, {
    ...{ purpose: 'listing_fee', listingId: null, merchantId: request.merchant.id, bodyHash: request.bodyHash },
    ...{ payee: terms.payee, valueUnits: terms.valueUnits, proof, openedBlock, deliveryTokenHash: null },
  });
}
