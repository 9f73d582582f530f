import type { Queryable } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { Market } from '../../../context.ts';
import type { DirectPayment } from '../../payment.ts';
import type { Payments } from '../../payments.ts';
import { findProof } from '../../proofs/store.ts';
import { lockPayment } from '../../store.ts';
import { tryToName } from './name-transaction.ts';
import { findClaim, findSurplus, type Intent } from './store.ts';

/**
 * The payment, paid or in review, that a claim of this transaction is answered with; null while there is none, and where the intent
 * was paid by another transaction: what is new has to be signed for before it is looked at. Writes nothing.
 */
export async function findDecided(queryable: Queryable, intent: Intent, txHash: Hex): Promise<DirectPayment | null> {
  const beside = await findSurplus(queryable, intent.id, txHash);
  if (beside !== null) return beside;
  const claim = await findClaim(queryable, intent.id);
  // What is named while the payee decides waits for that: it may still be what pays.
  if (claim?.status === 'needs_review') return claim;
  return claim?.status === 'completed' && claim.txHash === txHash ? claim : null;
}

/**
 * For a signed claim of another transaction than the one that paid its intent: it may be money that came in twice. The intent's own
 * payment where it is not. Null while the intent is not paid.
 */
export async function decideSurplus(
  market: Market,
  payments: Payments,
  intent: Intent,
  { txHash, payer }: { txHash: Hex; payer: Hex },
): Promise<DirectPayment | null> {
  const claim = await findClaim(market.database, intent.id);
  if (claim?.status !== 'completed') return null;
  // Only what the wallet of the claim sent can be money for it.
  if (claim.payer !== payer) return claim;
  return (await nameSurplus(market, payments, claim, txHash)) ?? claim;
}

/** Null while nothing is to be reviewed. Where the chain cannot be read the transaction stays named, and the pass looks at it. */
async function nameSurplus(
  market: Market,
  payments: Payments,
  claim: DirectPayment,
  txHash: Hex,
): Promise<DirectPayment | null> {
  const { database } = market;
  // Another request may have brought it to a review just now.
  if ((await findProof(database, { txHash })) !== null) return await findSurplus(database, claim.intentId, txHash);
  const isNamed = await database.transaction(async (tx) => {
    await lockPayment(tx, claim.id);
    return await tryToName(tx, claim, txHash);
  });
  if (!isNamed) return null;
  market.crashPoint('after_claim_committed');
  await payments.readSurplus(claim);
  return await findSurplus(database, claim.intentId, txHash);
}
