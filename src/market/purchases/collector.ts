import { timingSafeEqual } from 'node:crypto';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { BuyRequest } from './buy-request.ts';

/** What a request proves about who is asking. A proof that was once submitted proves nothing: it is public. */
export interface Collector {
  merchantId: bigint | null;
  /** SHA-256 of the delivery token sent along. */
  tokenHash: Buffer | null;
  /** The wallet that signed a fresh authorization for this listing. */
  signedBy: Hex | null;
}

export function collectorOf(request: BuyRequest, signedBy: Collector['signedBy']): Collector {
  return { merchantId: request.merchant?.id ?? null, tokenHash: request.tokenHash, signedBy };
}

interface Collectable {
  merchantId: bigint | null;
  payer: Hex | null;
  payerCollectsOnly: boolean;
}

/** Whether this request may have the goods of that payment (W7). */
export function mayCollect(collector: Collector, goods: Collectable, deliveryTokenHash: Buffer | null): boolean {
  if (collector.signedBy !== null && collector.signedBy === goods.payer) return true;
  if (goods.payerCollectsOnly) return false;
  if (collector.merchantId !== null && collector.merchantId === goods.merchantId) return true;
  const { tokenHash } = collector;
  return tokenHash !== null && deliveryTokenHash !== null && timingSafeEqual(tokenHash, deliveryTokenHash);
}

export function signToCollect(): Refusal {
  return new Refusal('sign_to_collect');
}
