import { RpcFailure } from '../platform/chain/rpc.ts';
import { type Hex, isHex } from '../platform/hex.ts';

/** What stood in the way says nothing about the payment. Never to be answered as a refusal. */
export class ChainTrouble extends Error {
  override readonly name = 'ChainTrouble';
}

/** The payment itself was tried on the node and does not go through. Its message is the node's reason. */
export class TransferRefused extends Error {
  override readonly name = 'TransferRefused';
}

export type DeferredReason = 'payer_resting' | 'payer_busy' | 'gas_budget_spent';

/** Nothing was signed, and the same payment may be asked for again later. */
export class Deferred extends Error {
  override readonly name = 'Deferred';
  readonly reason: DeferredReason;
  readonly retryAfterSeconds: number;

  constructor(reason: DeferredReason, retryAfterSeconds: number) {
    super(reason);
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const REVERT = /revert|gas required exceeds|out of gas/i;

/** Tells a call that the contract turned down from a node that could not answer; nodes disagree on the code. */
export function isRevert(error: unknown): error is RpcFailure {
  if (!(error instanceof RpcFailure) || error.kind !== 'error') return false;
  return error.code === 3 || isHex(error.data) || REVERT.test(error.message);
}

const POOR = /exceeds allowance|insufficient funds/i;

/** Words that a node has both for a call that takes too much gas and for an account that cannot pay for it. */
export function mayBePoor(error: RpcFailure): boolean {
  return POOR.test(error.message) && !isHex(error.data);
}

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
