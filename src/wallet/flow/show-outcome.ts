import { type AnyReason, MarketError } from '../../sdk/errors.ts';
import type { DeliveredGoods } from '../../sdk/goods/download.ts';
import { commitmentOf } from '../../sdk/payments/artifact-commitment.ts';
import { PaymentMayBeLost } from '../../sdk/payments/payment-errors.ts';
import { beginRecord, type PurchaseRecord } from '../purchase-record.ts';
import { isPaid } from '../show/show-purchase.ts';
import type { Action } from '../show/view.ts';
import type { Address } from '../wallet-provider.ts';
import { formatClock } from '../wording.ts';
import { explain, lacksFunds } from './explain.ts';
import { offerFile } from './save-file.ts';
import type { Allowed, Scene } from './scene.ts';

/** Shows the error, and offers only next steps that cannot pay twice. */
export async function showRefusal(scene: Scene, error: unknown, payer: Address): Promise<void> {
  const { store, now, screen, client } = scene;
  const saved = await store.saved().catch(() => undefined);
  if (saved === undefined) return showUnreadable(scene, error);
  // Expiry on this device's clock, counted by the slower of this clock and the market's.
  const untilMs = saved === null ? null : saved.proof.valid_before * 1_000 + now() - client.clock.earlier();
  if (saved !== null && (error instanceof MarketError || error instanceof PaymentMayBeLost)) {
    scene.hasEnded = hasAttemptEnded(error);
  }
  const record = dropUnsignedRecord(scene, saved !== null);
  const isStillValid = untilMs !== null && untilMs > now();
  const status = {
    ...{ hasProof: saved !== null, isPaid: isPaid(record) && !scene.hasEnded, hasEnded: scene.hasEnded },
    until: isStillValid ? formatClock(untilMs) : null,
  };
  const trouble = explain(error, status);
  // The purchase has stopped, so promise no time.
  const shown = scene.hasEnded || record === null ? null : { ...record, final_about: null };
  screen.show({ kind: 'trouble', trouble, actions: actionsFor(scene, error, payer, untilMs), record: shown }, true);
}

/** Returns the record. If nothing was signed or bought, deletes it and returns null. */
function dropUnsignedRecord({ store }: Scene, hasProof: boolean): PurchaseRecord | null {
  const record = store.record();
  if (hasProof || record?.phase === 'bought') return record;
  store.forget();
  return null;
}

function actionsFor(scene: Scene, error: unknown, payer: Address, untilMs: number | null): Action[] {
  if (untilMs === null) return [{ words: 'Try again', act: () => void scene.resume(true), isMain: true }];
  const again = (allowed: Allowed) => (): void => void scene.goOn(payer, allowed);
  if (lacksFunds(error)) return [{ words: 'Try again', act: again({}), isMain: true }];
  if (error instanceof PaymentMayBeLost) {
    // The user says that the transfer was for something else. Send the signed payment again, or sign once more if it has expired.
    const payAnew = again({ payAnew: true, mayPayAgain: true });
    return [
      { words: 'Look again', act: again({}), isMain: true },
      { words: 'It was for something else: pay', act: payAnew },
    ];
  }
  if (!scene.hasEnded) return [{ words: 'Look again', act: again({}), isMain: true }];
  if (!maySignAnew(error)) return [{ words: 'Forget this attempt', act: () => forgetPurchase(scene), fromMs: untilMs }];
  return [{ words: 'Pay again', act: again({ mayPayAgain: true }), isMain: true, fromMs: untilMs }];
}

function showUnreadable({ screen }: Scene, error: unknown): void {
  screen.show({
    kind: 'trouble',
    trouble: {
      ...explain(error, { hasProof: true, isPaid: false, hasEnded: false, until: null }),
      title: 'What is kept here cannot be read',
      what: 'This browser holds something about a payment for these goods that this page cannot read. A second signature could pay twice, so nothing is signed here.',
      todo: 'Collect the goods with the wallet that paid in another browser, or wait an hour and clear the data of this site.',
    },
    actions: [],
    record: null,
  });
}

/** Reasons after which the SDK signs once more for the same goods, if allowed. */
const SIGN_AGAIN_REASONS: readonly AnyReason[] = ['authorization_lapsed', 'payment_invalid', 'signature_invalid'];
/** Reasons after which there is nothing to sign for, or the user must check something else first. */
const FINAL_REASONS: readonly AnyReason[] = [
  ...(['listing_removed', 'listing_unavailable', 'payee_cannot_receive'] as const),
  ...(['payer_contract_refused', 'payer_not_deployed'] as const),
  ...(['x402_not_offered', 'price_above_limit', 'authorization_used_elsewhere'] as const),
];

/** True if the market says that a proof it has seen ended unpaid. A plain request for payment does not say so. */
export function hasAttemptEnded(error: unknown): boolean {
  if (!(error instanceof MarketError) || error.doNotPayAgain !== false) return false;
  return SIGN_AGAIN_REASONS.includes(error.reason) || FINAL_REASONS.includes(error.reason);
}

export function maySignAnew(error: unknown): boolean {
  return !(error instanceof MarketError) || SIGN_AGAIN_REASONS.includes(error.reason);
}

/** Shows the goods, and stores what is needed to read them again. `computed` is null for a file, which is checked while it is saved. */
export function showDelivery(scene: Scene, delivery: DeliveredGoods, computed = computedFrom(delivery)): void {
  const { store, screen, offer, now } = scene;
  const previous = store.record() ?? beginRecord(null, now());
  const record = {
    ...previous,
    phase: 'bought' as const,
    at: fillTimes(previous, now()),
    token: delivery.delivery_token ?? previous.token,
    recovery_slip: delivery.recovery_slip ?? previous.recovery_slip,
    transfer: previous.transfer ?? transferOf(delivery),
    nothing_due: offer.units > 0n && delivery.receipt === null && previous.at.signed === undefined,
  };
  const isOffered = delivery.listing_id === offer.id;
  const mayDiffer = offer.units === 0n || computed === null;
  const matches = computed === offer.artifact_commitment || (mayDiffer && isOffered);
  // Wrong goods do not end the purchase, so its proof stays.
  if (matches) store.write(record);
  // Free goods may have been edited since the page was rendered, but the SDK has compared them with the current listing.
  const current = offer.units === 0n && matches ? (computed ?? delivery.artifact_commitment) : undefined;
  const published = current ?? offer.artifact_commitment;
  const forget = (): void => forgetPurchase(scene);
  const view = { kind: 'goods' as const, delivery, record, published, computed, forget };
  if (computed === null && isOffered) offerFile(scene, view);
  else screen.show({ ...view, computed: computed ?? 'goods of another listing', file: null }, true);
}

function computedFrom(delivery: DeliveredGoods): string | null {
  return delivery.download === null ? commitmentOf(delivery) : null;
}

/** Returns the receipt's transfer, because the page may have been closed when the transfer happened. */
function transferOf({ receipt }: DeliveredGoods): PurchaseRecord['transfer'] {
  if (receipt === null) return null;
  const { tx_hash, block_number: block } = receipt;
  return { tx_hash, block, head_first: null, head: null };
}

/** Fills in missing times. Delivered goods were settled and final, even if this page did not see it. */
function fillTimes({ at }: PurchaseRecord, nowMs: number): PurchaseRecord['at'] {
  const delivered = at.delivered ?? nowMs;
  if (at.signed === undefined) return { ...at, delivered };
  return { ...at, delivered, settled: at.settled ?? delivered, final: at.final ?? delivered };
}

export function forgetPurchase(scene: Scene): void {
  scene.store.forget();
  scene.connected = null;
  void scene.resume(true);
}
