import type { Queryable } from '../../../../platform/database/database.ts';
import { type DirectPayment, mayPayAgain } from '../../payment.ts';
import { findClaim } from './store.ts';
import { findUnproven, viewOfUnproven } from './unproven-store.ts';

/**
 * Finds the payment that decides an intent's state. That is its claim, or its unsigned claim if there is no other or if only the unsigned
 * one forbids a further payment. Null if no transfer was claimed for the intent.
 */
export async function findIntentPayment(queryable: Queryable, intentId: string): Promise<DirectPayment | null> {
  const claim = await findClaim(queryable, intentId);
  if (claim !== null && !mayPayAgain(claim)) return claim;
  const unproven = await findUnproven(queryable, { intentId });
  // A delivered or refunded unsigned claim has become a payment with the same number.
  if (unproven === null || unproven.outcome === 'deliver' || unproven.outcome === 'refunded') return claim;
  const view = viewOfUnproven(unproven);
  return claim === null || (!mayPayAgain(view) && claim.txHash !== view.txHash) ? view : claim;
}
