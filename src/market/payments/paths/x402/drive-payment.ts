import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import { readAuthorizationState, readBalance, readBlacklisted, readPaused } from '../../../../platform/chain/usdc.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import type { Completions } from '../../completion.ts';
import { isOpen, type Payment, stoppedRefusal, type X402Payment } from '../../payment.ts';
import { findPayment, findPaymentToDrive, markSettling } from '../../store.ts';
import type { Proof, Terms } from '../../terms.ts';
import type { DriveResult, PathContext } from '../payment-path.ts';
import { isSignedBy, withAcceptedSignature } from './check-proof.ts';
import { askSettle, askVerify } from './facilitator.ts';

/**
 * Calls the facilitator's verify and then its settle while the payment is `verifying`, and settle again while it is `settling`. Submits
 * nothing while payments are halted.
 */
export async function drivePayment(
  { market, completions }: PathContext,
  requested: X402Payment,
  proof: Proof,
  terms: Terms,
): Promise<DriveResult> {
  const row = await findPaymentToDrive(market.database, requested.id);
  const payment = row?.payment ?? requested;
  if (payment.path !== 'x402' || row === null) return { current: payment, refusal: null };
  if (row.isHalted) return { current: payment, refusal: payment.status === 'verifying' ? haltedRefusal() : null };
  if (payment.status === 'verifying') {
    const refusal = row.isRemoved
      ? new Refusal('listing_removed')
      : await refuseSubmission(market, payment, proof, terms);
    if (refusal !== null) return { current: payment, refusal };
    const committed = await commitSettling(market, completions, payment);
    if (committed instanceof Refusal) {
      return { current: (await findPayment(market.database, payment.id)) ?? payment, refusal: committed };
    }
    market.crashPoint('after_settling_committed');
    return { current: committed, refusal: await submitPayment(market, proof, terms) };
  }
  const maySubmit = payment.status === 'settling' && (await maySubmitAgain(market, payment));
  return { current: payment, refusal: maySubmit ? await submitPayment(market, proof, terms) : null };
}

/** Builds the refusal while payments are halted. Nothing is submitted then, because nothing could be delivered for the money. */
function haltedRefusal(): Refusal {
  return new Refusal('verification_pending', {
    detail: 'Payments are halted, as the providers of the chain contradict each other; nothing was submitted now.',
    retryAfterSeconds: 30,
  });
}

/** Returns null if nothing forbids submission so far. Removal and edits of the listing are checked again under its lock. */
async function refuseSubmission(
  market: Market,
  payment: X402Payment,
  proof: Proof,
  terms: Terms,
): Promise<Refusal | null> {
  if (payment.stoppedAt !== null) return stoppedRefusal(endOf(payment), market.clock.now());
  if (isExpired(market, payment)) return new Refusal('verification_pending', { retryAfterSeconds: 2 });
  market.crashPoint('before_verify');
  return await verifyPayment(market, payment, proof, terms);
}

function endOf({ validBefore }: X402Payment): number {
  return Number(validBefore) * 1000;
}

function isExpired({ clock }: Market, payment: X402Payment): boolean {
  return clock.now() >= endOf(payment);
}

async function verifyPayment(
  market: Market,
  payment: X402Payment,
  proof: Proof,
  terms: Terms,
): Promise<Refusal | null> {
  const answer = await askVerify(market, withAcceptedSignature(proof), terms);
  if (answer.kind === 'valid') return null;
  if (answer.kind === 'unknown') {
    const detail = `The facilitator gave no verdict (${answer.why}); nothing was submitted.`;
    return new Refusal('verification_pending', { detail, retryAfterSeconds: 2 });
  }
  const confirmed = await confirmRejection(market, payment);
  if (confirmed === null) return facilitatorRefused('verify', answer.reason);
  const seconds = Math.ceil(Number(payment.validBefore) - market.clock.now() / 1000);
  return new Refusal('payment_rejected', { detail: confirmed, retryAfterSeconds: Math.max(1, seconds) });
}

function facilitatorRefused(step: string, reason: string): Refusal {
  return new Refusal('facilitator_refused', {
    detail: `The facilitator refused to ${step} (${reason}); the chain does not show why.`,
    retryAfterSeconds: 5,
  });
}

/** Returns what the chain itself shows against this payment. Null if it shows nothing or cannot be read. */
async function confirmRejection(market: Market, payment: X402Payment): Promise<string | null> {
  const { rpc } = market;
  const { asset, payer, payee } = payment;
  if (isExpired(market, payment)) return 'The authorization has expired.';
  try {
    const [used, balance, paused, payerBlocked, payeeBlocked] = await Promise.all([
      readAuthorizationState(rpc, asset, { authorizer: payer, nonce: payment.nonce }, 'latest'),
      readBalance(rpc, asset, payer),
      readPaused(rpc, asset),
      readBlacklisted(rpc, asset, payer),
      readBlacklisted(rpc, asset, payee),
    ]);
    // The nonce is used or cancelled, so a lower balance may come from this very payment. The reading that follows finds the use.
    if (used) return null;
    if (balance < payment.valueUnits) return 'The payer holds less USDC than the price.';
    if (paused) return 'USDC transfers are paused.';
    if (payerBlocked) return 'The payer is blocked by the USDC contract.';
    if (payeeBlocked) return 'The payee is blocked by the USDC contract.';
    return null;
  } catch (error) {
    if (error instanceof RpcFailure) return null;
    throw error;
  }
}

/** Commits `settling`, the point of no return, before anything is submitted. Refuses if the listing was removed or edited meanwhile. */
async function commitSettling(
  market: Market,
  completions: Completions,
  payment: X402Payment,
): Promise<Payment | Refusal> {
  return await market.database.transaction(async (tx) => {
    const { removedAt } = await completions[payment.purpose].lockSubject(tx, payment);
    if (removedAt !== null) return new Refusal('listing_removed');
    if (isExpired(market, payment)) return new Refusal('verification_pending', { retryAfterSeconds: 2 });
    const now = market.clock.now();
    const committed = await markSettling(tx, payment.id, new Date(now));
    if (committed !== null) return committed;
    const current = await findPayment(tx, payment.id);
    return current?.path === 'x402' && current.stoppedAt !== null
      ? stoppedRefusal(endOf(current), now)
      : new Refusal('verification_pending', { retryAfterSeconds: 1 });
  });
}

async function submitPayment(market: Market, proof: Proof, terms: Terms): Promise<Refusal | null> {
  const answer = await askSettle(market, withAcceptedSignature(proof), terms);
  market.crashPoint('after_settle_before_answer');
  return answer.kind === 'rejected' ? facilitatorRefused('settle', answer.reason) : null;
}

/**
 * Whether to submit the payment again, which cannot pay twice. False once its nonce is used or its authorization has expired, or if the
 * chain cannot be read.
 */
async function maySubmitAgain(market: Market, payment: X402Payment): Promise<boolean> {
  if (isExpired(market, payment)) return false;
  try {
    return !(await readAuthorizationState(
      market.rpc,
      payment.asset,
      { authorizer: payment.payer, nonce: payment.nonce },
      'latest',
    ));
  } catch (error) {
    if (error instanceof RpcFailure) return false;
    throw error;
  }
}

/**
 * Whether this proof is the payment's own authorization, signed by its payer. Only then is it sent to the facilitator. A caller with
 * anything else under the same nonce learns the payment's state and changes nothing.
 */
export async function mayDrive(
  market: Pick<Market, 'rpc' | 'clock' | 'config'>,
  payment: Payment,
  proof: Proof,
): Promise<boolean> {
  if (payment.path !== 'x402' || payment.chainId !== market.config.network.chainId) return false;
  const { authorization } = proof;
  const isSame =
    authorization.from === payment.payer &&
    authorization.nonce === payment.nonce &&
    authorization.to === payment.payee &&
    authorization.value === payment.valueUnits &&
    authorization.validAfter === payment.validAfter &&
    authorization.validBefore === payment.validBefore;
  if (!isSame || !isOpen(payment)) return false;
  try {
    return await isSignedBy(market, proof);
  } catch (error) {
    if (error instanceof RpcFailure) return false;
    throw error;
  }
}
