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

const REVERT = /revert|gas required exceeds|out of gas/i;

/** Tells a call that the contract turned down from a node that could not answer; nodes disagree on the code. */
export function isRevert(error: unknown): error is RpcFailure {
  if (!(error instanceof RpcFailure) || error.kind !== 'error') return false;
  return error.code === 3 || isHex(error.data) || REVERT.test(error.message);
}
