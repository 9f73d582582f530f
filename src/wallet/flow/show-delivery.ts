import type { Delivery } from '../../contract/listings.ts';
import { commitmentOf } from '../../sdk/payments/artifact-commitment.ts';
import { beginRecord, type PurchaseRecord } from '../keep/purchase-record.ts';
import type { Scene } from './scene.ts';

/** The goods, and what is needed to read them again is kept. */
export function showDelivery(scene: Scene, delivery: Delivery, computed = commitmentOf(delivery)): void {
  const { keep, screen, deal, now } = scene;
  const before = keep.record() ?? beginRecord(null, now());
  const record = {
    ...before,
    phase: 'bought' as const,
    at: allReached(before, now()),
    token: delivery.delivery_token ?? before.token,
    recovery_slip: delivery.recovery_slip ?? before.recovery_slip,
    transfer: before.transfer ?? transferOf(delivery),
  };
  const matches = computed === deal.artifact_commitment || (deal.units === 0n && delivery.listing_id === deal.id);
  // Goods that are not the promised ones are no end of the purchase: its proof stays.
  if (matches) keep.write(record);
  // Free goods may have been edited since the page was made; the SDK has held them against the listing as it stands.
  const published = deal.units === 0n && matches ? computed : deal.artifact_commitment;
  screen.show({ kind: 'goods', delivery, record, published, computed, forget: () => forget(scene) }, true);
}

/** A page that was closed while the transfer came learns of it with the goods. */
function transferOf({ receipt }: Delivery): PurchaseRecord['transfer'] {
  if (receipt === null) return null;
  const { tx_hash, block_number: block } = receipt;
  return { tx_hash, block, head_first: null, head: null };
}

/** What is delivered was settled and final, whether or not this page saw it happen. */
function allReached({ at }: PurchaseRecord, nowMs: number): PurchaseRecord['at'] {
  const delivered = at.delivered ?? nowMs;
  if (at.signed === undefined) return { ...at, delivered };
  return { ...at, delivered, settled: at.settled ?? delivered, final: at.final ?? delivered };
}

export function forget(scene: Scene): void {
  scene.keep.forget();
  scene.connected = null;
  void scene.resume(true);
}
