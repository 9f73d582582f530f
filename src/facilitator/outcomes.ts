import { encodeFunctionData, parseAbi } from 'viem/utils';
import { type Rpc, RpcFailure } from '../platform/chain/rpc.ts';
import type { Authorization } from '../platform/chain/shapes.ts';
import { type Hex, isHex } from '../platform/hex.ts';

/** The chain or the server failed, which says nothing about the payment. Must never be reported as a refusal. */
export class ChainTrouble extends Error {
  override readonly name = 'ChainTrouble';
}

/** The transfer would revert in the node's simulation, or its authorization expires too soon. The message is the reason. */
export class TransferRefused extends Error {
  override readonly name = 'TransferRefused';
}

export type DeferredReason = 'payer_resting' | 'payer_busy' | 'gas_budget_spent';

/** The server signed nothing, so the same payment may be sent again later. */
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

/** True if the call reverted, false if the node could not answer. Nodes disagree on the error code, so data and message count as well. */
export function isRevert(error: unknown): error is RpcFailure {
  if (!(error instanceof RpcFailure) || error.kind !== 'error') return false;
  return error.code === 3 || isHex(error.data) || REVERT.test(error.message);
}

const LACKS_MONEY = /exceeds allowance|insufficient funds/i;

/** True if the account may lack money for gas. Nodes may use the same words for a call that takes too much gas. */
export function mayLackGasMoney(error: RpcFailure): boolean {
  return LACKS_MONEY.test(error.message) && !isHex(error.data);
}

/**
 * settled: the transfer is in a block. pending: signed but not mined or, without a hash, still waiting to be signed; ask again with the
 * same payment. refused: no payment for this request was found, and none is sent; the hash, if any, is the transaction that failed.
 * deferred: nothing was signed, because the payer is in a cooldown or busy, or the gas budget is spent; ask again later. unknown: the chain
 * or the server failed, so a transaction may have been broadcast or not; ask again.
 */
export type Settlement =
  | { kind: 'settled'; transaction: Hex }
  | { kind: 'pending'; transaction: Hex | null }
  | { kind: 'refused'; reason: string; transaction: Hex | null }
  | { kind: 'deferred'; reason: DeferredReason; retryAfterSeconds: number }
  | { kind: 'unknown'; cause: unknown };

/**
 * taken: the node has the transaction. refused: the node neither kept it nor forwarded it. passed: this or another transaction has used the
 * account nonce. unknown: any node may have the transaction.
 */
export type Transmission = 'taken' | 'refused' | 'passed' | 'unknown';

const ALREADY_KNOWN = /already known|already imported|known transaction|alreadyknown/i;
const NONCE_PASSED = /nonce too low|nonce is too low|old nonce/i;
const REFUSED =
  /insufficient funds|underpriced|intrinsic gas|exceeds block gas|less than block base fee|fee cap|nonce too high|invalid sender|invalid chain/i;

export async function sendRawTransaction(rpc: Rpc, raw: Hex): Promise<Transmission> {
  try {
    await rpc.call('eth_sendRawTransaction', [raw]);
    return 'taken';
  } catch (error) {
    if (!(error instanceof RpcFailure) || error.kind !== 'error') return 'unknown';
    if (ALREADY_KNOWN.test(error.message)) return 'taken';
    if (NONCE_PASSED.test(error.message)) return 'passed';
    return REFUSED.test(error.message) ? 'refused' : 'unknown';
  }
}

export async function readTransactionCount(
  rpc: Rpc,
  address: Hex,
  block: 'latest' | 'pending' | bigint,
): Promise<number> {
  const at = typeof block === 'bigint' ? `0x${block.toString(16)}` : block;
  return Number(await readQuantity(rpc, 'eth_getTransactionCount', [address, at]));
}

/** Returns the balance in wei. */
export async function readEther(rpc: Rpc, address: Hex): Promise<bigint> {
  return readQuantity(rpc, 'eth_getBalance', [address, 'latest']);
}

export async function isKnown(rpc: Rpc, hash: Hex): Promise<boolean> {
  return (await rpc.call('eth_getTransactionByHash', [hash])) !== null;
}

async function readQuantity(rpc: Rpc, method: string, params: readonly unknown[]): Promise<bigint> {
  const answer = await rpc.call(method, params);
  if (typeof answer === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(answer)) return BigInt(answer);
  throw new RpcFailure('malformed', `${method} at ${rpc.endpoint}: not a number`);
}

const settleAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
]);

/** Encodes the only call that this server signs. */
export function settleData(authorization: Authorization, signature: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  return encodeFunctionData({ abi: settleAbi, functionName: 'transferWithAuthorization', args });
}
