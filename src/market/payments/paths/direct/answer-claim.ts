import type { Reason } from '../../../../contract/errors.ts';
import { readCode, readReceipt } from '../../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import { findWatermark } from '../../chain/store.ts';
import { type DirectPayment, isOpen } from '../../payment.ts';
import type { Payments } from '../../payments.ts';
import { type Pending, pendingBody, presentIntent, presentPayment } from '../../present-payment.ts';
import type { ClaimRefused, ClaimReview } from './decide-claim.ts';
import { type Intent, listClaimHashes } from './store.ts';

const WAIT_FOR_SENDER =
  'The signature is not that of a key that sent the transfer. Send the same claim again once the transfer is final: then the wallets that sent it are asked (ERC-1271). Do not pay again.';
const WAIT_FOR_CODE =
  'The signature is not that of the wallet’s own key. If it is a contract wallet, send the same claim again once it is deployed; else sign with the wallet that pays. Do not pay again.';

/** The answer to a claim that is still undecided. */
export interface PendingClaim {
  status: 202;
  body: Pending;
  headers: Record<string, string>;
}

const REFUSALS: Readonly<Record<ClaimRefused | ClaimReview, Reason>> = {
  transfer_not_found: 'transfer_not_found',
  wrong_payer: 'wrong_payer',
  transaction_used: 'transaction_used',
  authorized_transfer: 'authorized_transfer',
  amount_too_little: 'amount_too_little',
  outside_window: 'outside_window',
  already_bought: 'already_bought',
  paid_after_removal: 'paid_after_removal',
};

/** Maps the stored reason of an ended or refused claim to the reason of the answer. */
export function reasonOf(stored: string | null): Reason {
  const entry = Object.entries(REFUSALS).find(([name]) => name === stored);
  if (entry === undefined) throw new TypeError('a claim ended for a reason that is none');
  return entry[1];
}

/**
 * Throws the refusal, or returns the 202. Call after the chain was read, with a claim that is not completed. Returns null if the claim
 * ended because of other transactions and this one was never judged.
 */
export async function answerUncompleted(
  market: Market,
  payments: Payments,
  claim: DirectPayment,
  txHash: Hex,
): Promise<PendingClaim | null> {
  const { database, clock } = market;
  const watermark = await findWatermark(database, claim.chainId);
  if (claim.status === 'needs_review') {
    const payment = presentPayment(claim, watermark, claim.listingId, clock.now());
    throw new Refusal(reasonOf(claim.endReason), { fields: { payment_status: 'needs_review', payment } });
  }
  const namedHash = (await listClaimHashes(database, claim.id)).find((hash) => hash.txHash === txHash);
  if (namedHash?.refusedReason) {
    // Another transaction of the claim may be undecided, and may be the one that pays.
    throw new Refusal(reasonOf(namedHash.refusedReason), isOpen(claim) ? { doNotPayAgain: true } : {});
  }
  if (!isOpen(claim)) return null;
  if (!namedHash?.seenBlock) await mustBeReadable(payments);
  const body = {
    ...pendingBody(market, claim, { watermark, retry: 'same_request', now: clock.now() }),
    next_step: 'The transfer is not final yet. Send the same claim again after retry_after_seconds. Do not pay again.',
  };
  return { status: 202, body, headers: { 'retry-after': body.retry_after_seconds.toString() } };
}

/** Throws payment_preserved if the chain cannot be read, because then the transaction may exist unseen. */
async function mustBeReadable(payments: Payments): Promise<void> {
  try {
    await payments.readHead();
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
}

/**
 * Answers a claim whose signature cannot be checked yet: the intent's wallet has no code yet or, with `wallet` null, the intent names none
 * and no sender's key signed. Answers 202 until the transfer is final and stores nothing. Returns null once the wallet can be asked. Throws
 * if the wallet still has no code once the transfer is final, or if the window has ended without a transfer.
 */
export async function answerUncheckableClaim(
  market: Market,
  payments: Payments,
  intent: Intent,
  { wallet, txHash }: { wallet: Hex | null; txHash: Hex },
): Promise<PendingClaim | null> {
  try {
    const { rpc, finalized } = await payments.readHead();
    const receipt = await readReceipt(rpc, txHash);
    if (receipt !== null && finalized !== null && receipt.blockNumber <= finalized.number) {
      if (wallet === null) return null;
      // The transaction that pays often also creates the wallet, and may have become final since the code was read.
      if ((await readCode(rpc, wallet, 'finalized')) !== '0x') return null;
      throw new Refusal('signature_invalid', {
        detail: 'The wallet that the intent names did not sign, and is no contract.',
      });
    }
    const isWindowOver = finalized !== null && Number(finalized.timestamp) * 1000 >= intent.expiresAt.getTime();
    if (receipt === null && isWindowOver) throw new Refusal('transfer_not_found');
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
  const watermark = await findWatermark(market.database, intent.chainId);
  return {
    status: 202,
    headers: { 'retry-after': '5' },
    body: {
      status: 'payment_pending',
      payment: { ...presentIntent(intent, watermark), do_not_pay_again: true },
      do_not_pay_again: true,
      retry: 'same_request',
      retry_after_seconds: 5,
      payment_ends_at: null,
      estimate_seconds: null,
      next_step: wallet === null ? WAIT_FOR_SENDER : WAIT_FOR_CODE,
    },
  };
}
