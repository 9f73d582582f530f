import type { Queryable, Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { Payment } from '../payments/payment.ts';
import { countOpenFees, insertPayment } from '../payments/store.ts';
import type { Proof } from '../payments/terms.ts';
import { duplicate } from './check-goods.ts';
import { checkVersion } from './check-version.ts';
import { bodyBytes, feeTerms, type ListRequest } from './list-request.ts';
import { findGuard, holdGuard, insertPending, keepListings } from './store.ts';

/**
 * Commits, before anybody is asked: the attempt, the exact body, and the place of these goods. Null when another request took
 * the authorization or the body meanwhile: then that one is the answer.
 */
export async function openFee(
  market: Market,
  request: ListRequest,
  proof: Proof,
  openedBlock: bigint,
): Promise<Payment | null> {
  return await market.database.transaction(async (tx) => {
    const { merchant } = request;
    await tx.lock(`fees:${merchant.id}`);
    await checkOpenFees(tx, market, merchant.id);
    const payment = await insertAttempt(tx, market, request, proof, openedBlock);
    if (payment === null) return null;
    await holdGoods(tx, market, request, payment);
    return payment;
  });
}

/** Asked before the 402 too: nobody is asked to pay for what would then be refused. */
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
  const terms = feeTerms(market);
  const { authorization } = proof;
  return await insertPayment(tx, {
    purpose: 'listing_fee',
    listingId: null,
    merchantId: request.merchant.id,
    bodyHash: request.bodyHash,
    chainId: market.config.network.chainId,
    asset: market.config.network.usdc,
    payee: terms.payee,
    payer: authorization.from,
    valueUnits: terms.valueUnits,
    nonce: authorization.nonce,
    validAfter: authorization.validAfter,
    validBefore: authorization.validBefore,
    openedBlock,
    deliveryTokenHash: null,
    facilitatorUrl: market.config.facilitatorUrl,
    now: new Date(market.clock.now()),
  });
}

/** The place of the goods and their exact body, for a payment that was just opened. */
export async function holdGoods(tx: Tx, market: Market, request: ListRequest, payment: Payment): Promise<void> {
  const line = await checkVersion(tx, request.merchant.id, request.version);
  // Before the guard's row, which may be one of theirs: an edit too has its listing first and then moves the guard.
  await keepListings(tx, line);
  await hold(tx, market, request, payment, line);
  await insertPending(tx, payment.id, request.merchant.id, bodyBytes(request));
}

async function hold(
  tx: Tx,
  market: Market,
  request: ListRequest,
  payment: Payment,
  line: readonly bigint[],
): Promise<void> {
  const now = new Date(market.clock.now());
  const owner = { merchantId: request.merchant.id, listingId: null, paymentId: payment.id };
  if (await holdGuard(tx, request.guardKey, owner, { until: 'infinity', now, line })) return;
  const holder = await findGuard(tx, request.guardKey, now);
  throw duplicate(owner.merchantId, holder ?? owner);
}
