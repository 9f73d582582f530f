import { timingSafeEqual } from 'node:crypto';
import type { CollectedBy } from '../../contract/listings.ts';
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
  return { merchantId: request.merchant?.id ?? null, tokenHash: request.token?.hash ?? null, signedBy };
}

interface Collectable {
  merchantId: bigint | null;
  payer: Hex | null;
  payerCollectsOnly: boolean;
}

/** Whether this request may have the goods of that payment (W7). */
export function mayCollect(collector: Collector, goods: Collectable, deliveryTokenHash: Buffer | null): boolean {
  if (collector.signedBy !== null && collector.signedBy === goods.payer) return true;
  return collectedBy(collector, goods, deliveryTokenHash) !== 'signature';
}

/** What of this request collects the goods of that payment; `signature` where neither its key nor its token does. */
export function collectedBy(collector: Collector, goods: Collectable, deliveryTokenHash: Buffer | null): CollectedBy {
  if (goods.payerCollectsOnly) return 'signature';
  if (collector.merchantId !== null && collector.merchantId === goods.merchantId) return 'key';
  const { tokenHash } = collector;
  const isIts = tokenHash !== null && deliveryTokenHash !== null && timingSafeEqual(tokenHash, deliveryTokenHash);
  return isIts ? 'token' : 'signature';
}

export function signToCollect(): Refusal {
  return new Refusal('sign_to_collect');
}
