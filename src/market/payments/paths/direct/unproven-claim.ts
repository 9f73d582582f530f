import { MAX_UNPROVEN_CLAIMS, UNPROVEN_AFTER_HOURS } from '../../../../contract/vocabulary.ts';
import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import { type FoundTransfer, isStillFinal } from '../../../../platform/chain/sighting.ts';
import { delegateOf } from '../../../../platform/chain/signature-forms.ts';
import { isoTime } from '../../../../platform/clock.ts';
import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import { findWatermark, isHalted } from '../../chain/store.ts';
import type { Payments } from '../../payments.ts';
import { presentPayment, reviewRefusal } from '../../present-payment.ts';
import { type ClaimDecision, type ClaimEvidence, claimTermsOf, decideClaim } from './decide-claim.ts';
import { readClaim } from './gather-claims.ts';
import { findClaim, hasBought, type Intent } from './store.ts';
import {
  countOpenUnproven,
  findUnproven,
  insertUnproven,
  isTransactionClaimed,
  lockTransfer,
  type UnprovenClaim,
  viewOfIntent,
  viewOfUnproven,
} from './unproven-store.ts';

/** A claim of a transfer by the intent's wallet, whose code rejected the signature. */
export interface UnsignedClaim {
  intent: Intent;
  txHash: Hex;
  payer: Hex;
  /** Code of the wallet in the finalized block. */
  code: Hex;
  bodyHash: Buffer | null;
}

const AFTER_SECONDS = BigInt(UNPROVEN_AFTER_HOURS * 3_600);

/**
 * Refuses a claim that the wallet did not sign. If the wallet cannot sign, and its transfer is final, matches, is unclaimed and a day old,
 * the claim is stored and the refusal says that the payee decides now. A stored claim writes no proof. While it is undecided, the same
 * merchant is refused another payment for the same subject, but nobody else is.
 */
export async function refuseUnsigned(market: Market, payments: Payments, claim: UnsignedClaim): Promise<Refusal> {
  const { database } = market;
  const existing = await findUnproven(database, { intentId: claim.intent.id });
  if (existing !== null) return await refuseExisting(market, existing, claim.txHash);
  if (delegateOf(claim.code) !== null) return new Refusal('signature_invalid', { detail: REJECTED_BY_DELEGATE });
  const head = await readTransfer(market, payments, claim);
  if (head === null) return new Refusal('signature_invalid', { detail: REJECTED_BY_CODE });
  const { transfer, finalizedAt } = head;
  const from = transfer.blockTime + AFTER_SECONDS;
  if (finalizedAt < from || market.clock.now() < Number(from) * 1000) {
    const reviewFrom = isoTime(Number(from) * 1000);
    return new Refusal('signature_invalid', {
      detail: REJECTED_BY_CODE,
      fields: { review_from: reviewFrom },
      nextStep: `Sign the exact challenge in the wallet’s own way and claim again. If it cannot sign, send the same claim from ${reviewFrom} on: then the payee decides. Do not pay again.`,
    });
  }
  return await database.transaction((tx) => storeClaim(tx, market, payments, { claim, transfer }));
}

const REJECTED_BY_CODE = 'The code at the wallet of the intent did not accept the signature.';
const REJECTED_BY_DELEGATE =
  'The wallet of the intent delegates to a contract (EIP-7702), which did not accept the signature, and it is not that of its own key, which counts as well.';

/** Returns null if the transfer is not final, does not match, or another provider does not confirm it. */
async function readTransfer(
  market: Market,
  payments: Payments,
  claim: UnsignedClaim,
): Promise<{ transfer: FoundTransfer; finalizedAt: bigint } | null> {
  try {
    const head = await payments.readHead();
    const { rpc, finalized } = head;
    if (finalized === null) return null;
    const { intent, payer, txHash } = claim;
    const evidence = await readClaim(market, viewOfIntent(intent, payer), { txHash, seenBlock: null }, head);
    const decision = await decideUnsigned(market.database, claim, evidence, null);
    if (decision.outcome !== 'settled') return null;
    const isCertain =
      (await payments.corroborate(head, { id: 0n, asset: intent.asset }, evidence)) && (await isStillFinal(rpc, head));
    return isCertain ? { transfer: decision.transfer, finalizedAt: finalized.timestamp } : null;
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
}

/** Reaches the same verdict as for a signed claim. */
async function decideUnsigned(
  queryable: Queryable,
  { intent, payer }: UnsignedClaim,
  evidence: ClaimEvidence,
  removedAt: Date | null,
): Promise<ClaimDecision> {
  const { listingId, merchantId } = intent;
  const surplus = listingId !== null && (await hasBought(queryable, listingId, { merchantId, payer }));
  return decideClaim(evidence, claimTermsOf({ ...viewOfIntent(intent, payer), surplus }, removedAt));
}

async function storeClaim(
  tx: Tx,
  market: Market,
  payments: Payments,
  { claim, transfer }: { claim: UnsignedClaim; transfer: FoundTransfer },
): Promise<Refusal> {
  const { intent, payer, txHash } = claim;
  const subject = viewOfIntent(intent, payer);
  const { removedAt } = await payments.completions[intent.purpose].lockSubject(tx, subject);
  await lockTransfer(tx, txHash);
  await tx.lock(`unproven:${intent.merchantId}`);
  if (await isHalted(tx, intent.chainId)) return new Refusal('payment_preserved', { retryAfterSeconds: 60 });
  const existing =
    (await findUnproven(tx, { intentId: intent.id })) ??
    (await findUnproven(tx, { merchantId: intent.merchantId, txHash }));
  if (existing !== null) return await refuseExisting(market, existing, txHash, tx);
  if (await isTransactionClaimed(tx, { txHash, payer })) return new Refusal('transaction_used');
  if ((await findClaim(tx, intent.id)) !== null) return new Refusal('signature_invalid', { detail: REJECTED_BY_CODE });
  if (removedAt !== null && Number(transfer.blockTime) * 1000 >= removedAt.getTime()) {
    return new Refusal('signature_invalid', { detail: REJECTED_BY_CODE });
  }
  if ((await countOpenUnproven(tx, intent.merchantId)) >= MAX_UNPROVEN_CLAIMS) {
    return new Refusal('too_many_unproven', { retryAfterSeconds: 3_600 });
  }
  const { bodyHash } = claim;
  await insertUnproven(tx, { intent, payer, bodyHash, transfer, now: new Date(market.clock.now()) });
  const opened = await findUnproven(tx, { intentId: intent.id });
  if (opened === null) throw new TypeError('a claim that was stored is not there');
  return await refuseExisting(market, opened, txHash, tx);
}

/** Builds the refusal for a claim on which the payee decides or has decided. */
async function refuseExisting(
  market: Market,
  claim: UnprovenClaim,
  txHash: Hex,
  queryable: Queryable = market.database,
): Promise<Refusal> {
  const isSame = claim.transfer.txHash === txHash;
  if (claim.outcome !== null && !isSame) {
    return new Refusal('signature_invalid', {
      detail: `${REJECTED_BY_CODE} One transfer can be claimed for an intent without it, and that one ended as ${claim.outcome}.`,
      nextStep:
        'Sign the exact challenge in the wallet’s own way and claim again. If it cannot sign, ask the payee to send this transfer back. Do not pay again.',
    });
  }
  if (claim.outcome !== null) {
    return new Refusal('transaction_used', {
      detail: `That claim was not signed by the wallet, and ended as ${claim.outcome}.`,
      nextStep: 'Only the wallet’s own signature can claim that transfer now. GET /api/payment shows what was decided.',
      doNotPayAgain: claim.outcome !== 'declined' && claim.outcome !== 'refunded',
    });
  }
  if (!isSame) {
    return new Refusal('payment_undecided', {
      detail: 'Another transfer was claimed for this intent without a signature, and its payee decides on that.',
      retryAfterSeconds: 3_600,
    });
  }
  const watermark = await findWatermark(queryable, claim.chainId);
  const view = viewOfUnproven(claim);
  const payment = presentPayment(view, watermark, view.listingId, market.clock.now());
  return new Refusal('payer_unproven', { fields: { payment_status: 'needs_review', payment } });
}

/** Builds the refusal of another payment for the same subject while this claim is undecided. */
export async function reviewOfUnproven({ database, clock }: Market, claim: UnprovenClaim): Promise<Refusal> {
  return reviewRefusal(viewOfUnproven(claim), await findWatermark(database, claim.chainId), clock.now());
}
