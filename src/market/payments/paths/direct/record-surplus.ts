import type { Tx } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { DirectPayment } from '../../payment.ts';
import { insertProof } from '../../proofs/store.ts';
import { endPayment } from '../../store.ts';
import type { ClaimDecision } from './decide-claim.ts';
import { handOverHash, insertSurplus, isNamedElsewhere, listClaimHashes, refuseHash } from './store.ts';

type Received = Extract<ClaimDecision, { outcome: 'settled' | 'review' }>;

/**
 * What else was named for a claim that has been decided on: each further final transfer of its wallet to the payee is a payment of its
 * own, in review, so that the payee can give it back. Call with the claim locked.
 */
export async function recordSurplus(
  tx: Tx,
  claim: DirectPayment,
  decisions: ReadonlyMap<Hex, ClaimDecision>,
  now: Date,
): Promise<void> {
  for (const { txHash, isUndecided } of await listClaimHashes(tx, claim.id)) {
    const decision = decisions.get(txHash);
    if (!isUndecided || decision === undefined || decision.outcome === 'unknown') continue;
    if (decision.outcome === 'refused') await refuseHash(tx, claim.id, txHash, decision.reason);
    else if (await isNamedElsewhere(tx, claim, txHash)) continue;
    else if (!(await review(tx, claim, decision, now))) await refuseHash(tx, claim.id, txHash, 'transaction_used');
  }
}

class AlreadyProven extends Error {}

/** False when the transaction proves something else. */
async function review(tx: Tx, claim: DirectPayment, decision: Received, now: Date): Promise<boolean> {
  const { transfer } = decision;
  // A second one that fits is not what it was asked for any more.
  const reason = decision.outcome === 'review' ? decision.reason : 'already_bought';
  try {
    await tx.savepoint(async () => {
      const { id, purpose } = await insertSurplus(tx, claim.id, now);
      if (!(await insertProof(tx, { id }, purpose, transfer, now))) throw new AlreadyProven();
      const { logIndex } = transfer;
      await endPayment(tx, id, { status: 'needs_review', reason, transfer, logIndex, payerCollectsOnly: false }, now);
      await handOverHash(tx, claim.id, id, transfer.txHash);
    });
    return true;
  } catch (error) {
    if (error instanceof AlreadyProven) return false;
    throw error;
  }
}
