import type { Payment, Proof, Transfer, View } from './terms.ts';

/** Parts of the reference that verdicts need. */
export interface Scene {
  view: View;
  before: View['transfers'];
  now: number;
  isFirstDark: boolean;
  proven: ReadonlyMap<string, Payment>;
  find(hash: string): Transfer | undefined;
  isFinal(block: number): boolean;
  byProof(name: string): Payment | undefined;
  removedAt(subject: string): number;
}

/** Returns `fits`, `no <reason>`, or the reason for a review. Null if unknown. */
export function judgeClaim(scene: Scene, payment: Payment, hash: string): string | null {
  const { view, isFinal, byProof, removedAt } = scene;
  const { intent } = payment;
  if (intent === null) throw new TypeError('a claim for no intent');
  const all = view.transfers.filter((one) => one.hash === hash);
  const [first] = all;
  if (first === undefined) return view.finalized.time >= intent.to ? 'no transfer_not_found' : null;
  if (!isFinal(first.block)) return null;
  if (all.some(({ authorization }) => authorization !== null && byProof(authorization))) return 'no transaction_used';
  const own = paidBy(view, payment, hash);
  const isByOther = all.some(({ to, units }) => to === payment.payee && units >= payment.units && units > 0n);
  if (own === undefined) return isByOther ? 'no wrong_payer' : 'no transfer_not_found';
  if (all.some(({ authorization, from }) => authorization !== null && from === payment.payer))
    return 'authorized_transfer';
  if (own.units < payment.units) return 'amount_too_little';
  if (first.time < intent.from || first.time >= intent.to) return 'outside_window';
  if (first.time * 1000 >= removedAt(payment.subject)) return 'paid_after_removal';
  return payment.surplus ? 'already_bought' : 'fits';
}

/** Returns the first sufficient transfer from payer to payee, or else the largest. */
export function paidBy(view: View, payment: Payment, hash: string): Transfer | undefined {
  const own = view.transfers.filter(
    ({ hash: of, from, to, units }) => of === hash && from === payment.payer && to === payment.payee && units > 0n,
  );
  return own.find(({ units }) => units >= payment.units) ?? own.toSorted((a, b) => Number(b.units - a.units))[0];
}

/** Returns why a proof opens no payment. Null if it opens one. */
export function faultOfProof(
  scene: Scene,
  proof: Proof | null,
  asked: { payee: string; units: bigint },
  resource: string | null,
): string | null {
  if (proof === null) return 'payment_required';
  if (resource !== null && resource !== proof.resource) return 'payment_bound_elsewhere';
  if (scene.isFirstDark) return 'payment_check_unavailable';
  // The use of the authorization is checked first, so that a buyer who paid elsewhere with a wrong proof learns about that payment and is
  // not asked to sign again.
  if (scene.before.some(({ authorization }) => authorization === proof.authorization)) {
    return 'authorization_used_elsewhere';
  }
  const isInTime = proof.validBefore - Math.floor(scene.now / 1000) >= 20;
  return isInTime && proof.payee === asked.payee && proof.units === asked.units ? null : 'payment_invalid';
}

/** Returns why a transaction is not a refund. Null if it is one. */
export function faultOfRefund(scene: Scene, { transfer, payee, payer }: Payment, hash: string): string | null {
  const back = scene.find(hash);
  if (scene.proven.has(hash)) return 'transaction_used';
  if (back === undefined || !scene.isFinal(back.block)) return 'refund_not_final';
  const isEnough = back.from === payee && back.to === payer && back.units >= (transfer?.units ?? 0n);
  return isEnough && back.block > (transfer?.block ?? 0) ? null : 'refund_not_found';
}
