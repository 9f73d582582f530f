import type { ClaimBody } from '../../contract/payments.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { continueClaim } from '../payments/paths/direct/continue-claim.ts';
import { findOwnIntent, undecidedRefusal } from '../payments/paths/direct/name-transaction.ts';
import { type Intent, insertClaim, rebindPayer } from '../payments/paths/direct/store.ts';
import type { DirectPayment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { findOpenFee } from '../payments/store.ts';
import type { ListAnswer } from './answer-created.ts';
import { answerCompletedFee, refuseWithoutListing } from './answer-fee.ts';
import type { Checked, ListRequest } from './list-request.ts';
import { checkOpenFees } from './open-fee.ts';

const MAX_ROUNDS = 4;

/** What was sent along, and what the checks have found; null while nothing was checked, and then no claim opens. */
export interface Claimed<Found extends Checked | null> {
  claim: ClaimBody;
  checked: Found;
}

/** The fee by a transfer: the claim, the exact body and what is held for it are committed before the chain is asked. */
export async function listByTransfer(
  market: Market,
  payments: Payments,
  request: ListRequest,
  claimed: Claimed<Checked>,
): Promise<ListAnswer> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const answer = await continueFeeClaim(market, payments, request, claimed);
    if (answer !== null) return answer;
  }
  throw new Refusal('payment_preserved', {
    detail: 'Another request for this fee is under way.',
    retryAfterSeconds: 1,
  });
}

/** Null when the claim that was found is over, or a rival took its place: the next round sees what became of it. */
export async function continueFeeClaim(
  market: Market,
  payments: Payments,
  request: ListRequest,
  { claim, checked }: Claimed<Checked | null>,
): Promise<ListAnswer | null> {
  const { merchant } = request;
  const intent = await findOwnIntent(market.database, merchant, claim.intent_id, 'listing_fee');
  const signed = { intent, txHash: claim.tx_hash, signature: claim.payer_signature as Hex };
  return await continueClaim<ListAnswer>(market, payments, signed, {
    checkPayer: async () => {},
    lock: (tx) => tx.lock(`fees:${merchant.id}`),
    open: async (tx, payer) => checked && (await open(tx, market, request, intent, { payer, checked })),
    mustBeSame: async (tx, standing) => {
      if (!isOfBody(standing, request)) throw await undecidedRefusal(tx, market, standing);
    },
    rebind: (tx, standing, payer) => rebindPayer(tx, standing.id, payer, new Date(market.clock.now())),
    answerCompleted: (payment) => answerCompleted(market, request, payment),
  });
}

/** A fee pays for the body with which it was claimed. */
async function answerCompleted(market: Market, request: ListRequest, claim: DirectPayment): Promise<ListAnswer> {
  if (!isOfBody(claim, request))
    throw new Refusal('transaction_used', { detail: 'That fee paid for another listing.' });
  const answer = await answerCompletedFee(market, claim);
  if (answer !== null) return answer;
  throw await refuseWithoutListing(market, claim, request.subject);
}

function isOfBody(claim: DirectPayment, { bodyHash }: ListRequest): boolean {
  return claim.bodyHash?.equals(bodyHash) === true;
}

async function open(
  tx: Tx,
  market: Market,
  { merchant, bodyHash }: ListRequest,
  intent: Intent,
  { payer, checked }: { payer: Hex; checked: Checked },
): Promise<DirectPayment | null> {
  await checkOpenFees(tx, market, merchant.id);
  const opened = await insertClaim(market, tx, { intent, payer, bodyHash, surplus: false });
  if (opened !== null) {
    await checked.hold(tx, opened);
    return opened;
  }
  const rival = await findOpenFee(tx, merchant.id, bodyHash);
  if (rival !== null) throw await undecidedRefusal(tx, market, rival);
  return null;
}
