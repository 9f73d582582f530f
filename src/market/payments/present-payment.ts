import type { z } from 'zod';
import { checksummed } from '../../contract/chain-values.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { pendingAnswer } from '../../contract/listings.ts';
import type { PaymentOut } from '../../contract/payments.ts';
import type { Network } from '../../contract/vocabulary.ts';
import type { Watermark } from '../../platform/chain/accept-head.ts';
import { isoTime } from '../../platform/clock.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { findWatermark } from './chain/store.ts';
import { findWaitingClaim, type WaitingClaim } from './paths/direct/further-store.ts';
import { findIntentPayment } from './paths/direct/intent-payment.ts';
import { findIntent, type Intent } from './paths/direct/store.ts';
import { pathOf } from './paths/payment-paths.ts';
import { findElsewhereOutcome, hasEnded, isOpen, mayPayAgain, type Payment } from './payment.ts';
import type { Payments } from './payments.ts';
import { findProof, type ProofRow } from './proof-store.ts';
import { slipOf } from './recovery-slip.ts';
import { findByAuthorization, findPayment } from './store.ts';

type Stage = PaymentOut['stage'];

/** Presents a payment publicly: its state and the next step, but never the buyer or a signature. */
export function presentPayment(
  payment: Payment,
  watermark: Watermark | null,
  listingId: bigint | null,
  now: number,
): PaymentOut {
  const endsAt = endsAtLatest(payment, watermark, now);
  return {
    id: Number(payment.id),
    purpose: payment.purpose,
    payment_status: statusOf(payment),
    ...outcomeOf(payment),
    stage: stageOf(payment, watermark),
    listing_id: listingId === null ? null : Number(listingId),
    tx_hash: payment.txHash,
    block_number: payment.blockNumber === null ? null : Number(payment.blockNumber),
    block_time: payment.blockTime === null ? null : isoTime(payment.blockTime),
    finalized_head: watermark === null ? null : Number(watermark.number),
    payment_ends_at: endsAt === null ? null : isoTime(endsAt),
    next_step: nextStepOf(payment),
    do_not_pay_again: !mayPayAgain(payment),
    updated_at: isoTime(payment.updatedAt),
  };
}

/** Returns why the payment ended: a person's decision or, without one, what the chain showed. */
function outcomeOf({ reviewOutcome, endReason }: Payment): { outcome?: string } {
  const outcome = reviewOutcome ?? endReason;
  return outcome === null ? {} : { outcome };
}

export function presentIntent(intent: Intent, watermark: Watermark | null): PaymentOut {
  return {
    id: null,
    purpose: intent.purpose,
    payment_status: 'unsubmitted',
    stage: 'received',
    listing_id: intent.listingId === null ? null : Number(intent.listingId),
    tx_hash: null,
    block_number: null,
    block_time: null,
    finalized_head: watermark === null ? null : Number(watermark.number),
    payment_ends_at: isoTime(intent.expiresAt),
    next_step: 'If a transfer was sent for it, claim it. Do not send a second one.',
    do_not_pay_again: false,
    updated_at: isoTime(intent.createdAt),
  };
}

/** Presents a sale in the city, for which the market writes nothing before the transfer is final. */
export function presentCitySale(proof: ProofRow, listingId: bigint, watermark: Watermark | null): PaymentOut {
  return {
    id: null,
    purpose: 'purchase',
    payment_status: 'completed',
    stage: 'delivered',
    listing_id: Number(listingId),
    tx_hash: proof.txHash,
    block_number: Number(proof.blockNumber),
    block_time: isoTime(proof.blockTime),
    finalized_head: watermark === null ? null : Number(watermark.number),
    payment_ends_at: null,
    next_step: 'The thing has changed hands in its city. Do not pay again.',
    do_not_pay_again: true,
    updated_at: isoTime(proof.writtenAt),
  };
}

/**
 * Presents a transaction that the payer named while the payee decides on another one for the same intent. It is not a payment yet. It is
 * judged when claimed after that decision, or automatically once the payee has delivered.
 */
function presentWaiting({ claim, txHash, seenBlock }: Waiting, watermark: Watermark | null): PaymentOut {
  const isDecided = hasEnded(claim.status);
  const decision = `payment ${claim.id}, transaction ${claim.txHash}`;
  return {
    id: null,
    purpose: claim.purpose,
    payment_status: isDecided ? 'unsubmitted' : 'payment_pending',
    stage: watermark !== null && seenBlock <= watermark.number ? 'finalized' : 'mined',
    listing_id: claim.listingId === null ? null : Number(claim.listingId),
    tx_hash: txHash,
    block_number: Number(seenBlock),
    block_time: null,
    finalized_head: watermark === null ? null : Number(watermark.number),
    payment_ends_at: null,
    ...(claim.txHash === null ? {} : { waits_for: { payment_id: Number(claim.id), tx_hash: claim.txHash } }),
    next_step: isDecided
      ? `The payee has decided on ${decision}. Claim this transaction again. Do not pay again.`
      : `It was not looked at: the payee decides on ${decision}, first. Claim it again after that. Do not pay again.`,
    do_not_pay_again: true,
    updated_at: isoTime(claim.updatedAt),
  };
}

/**
 * Returns when a payment ends at the latest if no transfer is seen, in milliseconds. While `verifying`, that is validBefore; afterwards,
 * when a block of that time becomes final, which is later by the lag of finality. Null once the payment has ended or a transfer is seen.
 */
function endsAtLatest(payment: Payment, watermark: Watermark | null, now: number): number | null {
  if (!isOpen(payment) || payment.txHash !== null) return null;
  const expires = pathOf(payment).present.expiresAt(payment);
  if (payment.status === 'verifying' || watermark === null) return expires;
  return expires + Math.max(0, now - Number(watermark.timestamp) * 1000);
}

function statusOf(payment: Payment): PaymentOut['payment_status'] {
  switch (payment.status) {
    case 'verifying':
    case 'settling':
      return 'payment_pending';
    default:
      return payment.status;
  }
}

function stageOf(payment: Payment, watermark: Watermark | null): Stage {
  if (payment.status === 'completed') return 'delivered';
  if (payment.blockNumber !== null) {
    return watermark !== null && payment.blockNumber <= watermark.number ? 'finalized' : 'mined';
  }
  return payment.settlingAt === null ? 'verifying' : 'settling';
}

/** These texts refer to the transfer by its hash, because its proof belongs to another payment. */
const ELSEWHERE = {
  proven:
    'The wallet’s own signature has claimed this transfer: GET /api/payment by tx_hash shows for what. Do not pay again.',
  superseded:
    'The payee has decided on another claim of this transfer: GET /api/payment by tx_hash shows how. Do not pay again, unless it was given back.',
} as const;

function nextStepOf(payment: Payment): string {
  const { present } = pathOf(payment);
  const elsewhere = findElsewhereOutcome(payment);
  if (elsewhere !== null) return ELSEWHERE[elsewhere];
  switch (payment.status) {
    case 'verifying':
      return present.verifying(payment);
    case 'settling':
      return present.settling;
    case 'completed':
      return payment.purpose === 'purchase' ? present.collect : 'The fee is paid. Do not pay again.';
    case 'needs_review':
      return 'The payee decides what happens. Do not pay again.';
    case 'unpaid':
      return present.unpaid;
    case 'rejected':
      return 'The payee has decided. A new payment may be made.';
  }
}

/** Estimates how many seconds remain until the transfer's block is final, if finality advances in real time. Null until it is mined. */
function estimateSeconds(payment: Payment, watermark: Watermark | null): number | null {
  if (payment.blockTime === null || watermark === null) return null;
  const secondsLeft = payment.blockTime.getTime() / 1000 - Number(watermark.timestamp);
  return Math.max(1, Math.ceil(secondsLeft));
}

export type Pending = z.input<typeof pendingAnswer>;

const MAX_RETRY_SECONDS = 30;

export function pendingBody(
  market: Pick<Market, 'pepper'>,
  payment: Payment,
  { watermark, retry, now }: { watermark: Watermark | null; retry: 'same_request' | 'same_proof'; now: number },
): Pending {
  const estimate = estimateSeconds(payment, watermark);
  const view = presentPayment(payment, watermark, payment.listingId, now);
  return {
    status: 'payment_pending',
    payment: view,
    ...slipField(market, payment),
    do_not_pay_again: true,
    collected_by: payment.merchantId === null ? 'signature' : 'key',
    retry,
    retry_after_seconds: Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil((estimate ?? 2) / 4))),
    payment_ends_at: view.payment_ends_at,
    estimate_seconds: estimate,
    next_step: 'The payment is on its way. Send the same request again after retry_after_seconds. Do not pay again.',
  };
}

export function pendingHeaders(network: Network, payment: Payment, body: Pending): Record<string, string> {
  const settlement =
    payment.txHash === null ? {} : settlementHeaders(network, payment.txHash, checksummed(payment.payer));
  return { ...settlement, 'retry-after': body.retry_after_seconds.toString() };
}

/** Builds the `recovery_slip` field of an answer, if the payment has a slip. */
export function slipField(market: Pick<Market, 'pepper'>, payment: Payment): { recovery_slip?: string } {
  const slip = slipOf(market, payment);
  return slip === null ? {} : { recovery_slip: slip };
}

/** Builds the refusal while a person decides about money that has arrived. Nothing is delivered yet, and the buyer must not pay again. */
export function reviewRefusal(payment: Payment, watermark: Watermark | null, now: number): Refusal {
  return new Refusal('needs_review', {
    fields: { payment_status: 'needs_review', payment: presentPayment(payment, watermark, payment.listingId, now) },
  });
}

/** Builds the settlement headers for x402 clients, in both versions. */
export function settlementHeaders(network: Network, transaction: string, payer: string): Record<string, string> {
  const encodeFor = (name: string): string =>
    Buffer.from(JSON.stringify({ success: true, transaction, network: name, payer })).toString('base64');
  return { 'x-payment-response': encodeFor(network.name), 'payment-response': encodeFor(network.caip2) };
}

type Waiting = WaitingClaim & { txHash: Hex };

type StatusCall = MarketCall<Endpoints['getPayment']>;

/**
 * GET /api/payment. Public, so it ignores the caller. A lookup by transaction gives an answer only if the transaction proves something here
 * or waits for a decision on another one. For a refund, it shows the refunded payment.
 */
export function makeGetPayment(payments: Payments): MarketOperation<Endpoints['getPayment']> {
  return async (market, call) => {
    const named = (await findCitySale(market, call)) ?? (await findWaiting(market, call));
    if (named !== null) return { status: 200, body: { payment: named } };
    const intent = call.query.intent_id === undefined ? null : await findIntent(market.database, call.query.intent_id);
    const payment =
      intent === null ? await findByQuery(market, call) : await findIntentPayment(market.database, intent.id);
    if (intent !== null && payment === null) {
      const watermark = await findWatermark(market.database, intent.chainId);
      return { status: 200, body: { payment: presentIntent(intent, watermark) } };
    }
    if (payment === null) throw new Refusal('payment_not_found');
    const watermark = await findWatermark(market.database, payment.chainId);
    const listingId = await payments.listingOf(payment);
    const view = presentPayment(payment, watermark, listingId, market.clock.now());
    const isPaidByOther = intent?.payer === null && payment.status === 'unpaid' && payment.endReason === 'wrong_payer';
    return { status: 200, body: { payment: isPaidByOther ? { ...view, ...PAID_BY_OTHER } : view } };
  };
}

/**
 * Added to the answer if the intent names no wallet and the sender of the transfer is not the wallet of the signing key. If the sender is a
 * contract, it may have signed, and is asked when the same claim is sent again.
 */
const PAID_BY_OTHER = {
  next_step:
    'Another wallet than the key behind the signature sent that transfer. If it is yours, send the same claim again, or sign with that wallet, and do not pay again. If you sent nothing, a new intent may be opened.',
  do_not_pay_again: true,
};

/** Finds the sale of a thing. It is paid in the city, so the ledger has no payment for it and the proof contains everything. */
async function findCitySale(market: Market, { query }: StatusCall): Promise<PaymentOut | null> {
  const proof = query.tx_hash === undefined ? null : await findProof(market.database, { txHash: query.tx_hash });
  if (proof?.worldListingId == null) return null;
  return presentCitySale(
    proof,
    proof.worldListingId,
    await findWatermark(market.database, market.config.network.chainId),
  );
}

/** Shows a waiting transaction only if it proves nothing and the chain has shown it as a transfer by the claim's own wallet. */
async function findWaiting({ database }: Market, { query }: StatusCall): Promise<PaymentOut | null> {
  const { tx_hash: txHash } = query;
  if (txHash === undefined || (await findProof(database, { txHash })) !== null) return null;
  const waiting = await findWaitingClaim(database, txHash);
  if (waiting === null) return null;
  return presentWaiting({ ...waiting, txHash }, await findWatermark(database, waiting.claim.chainId));
}

async function findByQuery(market: Market, call: StatusCall): Promise<Payment | null> {
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
