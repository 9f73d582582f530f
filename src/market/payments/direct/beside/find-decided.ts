import type { Hex } from '../../../../platform/hex.ts';
import type { Market } from '../../../context.ts';
import type { DirectPayment } from '../../payment.ts';
import type { Payments } from '../../payments.ts';
import { findProof } from '../../proofs/store.ts';
import { lockPayment } from '../../store.ts';
import { tryToName } from '../name-transaction.ts';
import { findClaim, type Intent } from '../store.ts';
import { findBeside } from './store.ts';

/**
 * The payment, paid or in review, that a claim of this transaction is answered with; null while there is none. Where the intent is paid
 * by another transaction this one is looked at as well: it may be money that came in twice.
 */
export async function findDecided(
  market: Market,
  payments: Payments,
  intent: Intent,
  txHash: Hex,
): Promise<DirectPayment | null> {
  const beside = await findBeside(market.database, intent.id, txHash);
  if (beside !== null) return beside;
  const claim = await findClaim(market.database, intent.id);
  // What is named while the payee decides waits for that: it may still be what pays.
  if (claim?.status === 'needs_review') return claim;
  if (claim?.status !== 'completed') return null;
  return (await nameBeside(market, payments, claim, txHash)) ?? claim;
}

/** Null while nothing is to be reviewed. Where the chain cannot be read the transaction stays named, and the pass looks at it. */
async function nameBeside(
  market: Market,
  payments: Payments,
  claim: DirectPayment,
  txHash: Hex,
): Promise<DirectPayment | null> {
  const { database } = market;
  // Somebody else may have brought it to a review just now.
  if ((await findProof(database, { txHash })) !== null) return await findBeside(database, claim.intentId, txHash);
  const isNamed = await database.transaction(async (tx) => {
    await lockPayment(tx, claim.id);
    return await tryToName(tx, claim, txHash);
  });
  if (!isNamed) return null;
  market.crashPoint('after_claim_committed');
  await payments.lookBeside(claim);
  return await findBeside(database, claim.intentId, txHash);
}
