import type { SavedPayment } from './proof-store.ts';

/** Waiting ended before the payment did. It may still be carried out: call again with the same store, and do not pay elsewhere. */
export class PaymentUndecided extends Error {
  override readonly name = 'PaymentUndecided';
  readonly doNotPayAgain = true;
  /** Null when this process has signed nothing: the market holds an earlier payment of this buyer. */
  readonly nonce: string | null;
  readonly payer: string | null;

  constructor(detail: string, payment: SavedPayment | null, cause?: unknown) {
    super(`${detail}. A payment may exist: call again with the same proof store, do not pay again`, { cause });
    this.nonce = payment?.proof.nonce ?? null;
    this.payer = payment?.proof.payer ?? null;
  }
}
