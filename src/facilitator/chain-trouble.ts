import { RpcFailure } from '../platform/chain/rpc.ts';
import { isHex } from '../platform/hex.ts';

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
