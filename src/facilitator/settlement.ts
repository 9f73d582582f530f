import type { Hex } from '../platform/hex.ts';
import type { DeferredReason } from './chain-trouble.ts';

/**
 * settled: in a block, with the transfer. pending: broadcast, or about to be where there is no hash yet; ask again with the same payment.
 * refused: nothing was paid, or a hash names the transaction that failed. deferred: nothing was signed, as its payer rests or no gas is
 * left to lose; ask again later. unknown: nothing was broadcast and nothing could be found out.
 */
export type Settlement =
  | { kind: 'settled'; transaction: Hex }
  | { kind: 'pending'; transaction: Hex | null }
  | { kind: 'refused'; reason: string; transaction: Hex | null }
  | { kind: 'deferred'; reason: DeferredReason; retryAfterSeconds: number }
  | { kind: 'unknown'; cause: unknown };
