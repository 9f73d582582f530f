import { keccak256 } from 'viem/utils';
import type { Hex } from '../platform/hex.ts';
import type { Context } from './context.ts';
import type { SignedTransaction } from './journal/entry.ts';

export interface TransactionGas {
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

export const FILL_GAS = 21_000n;

/** Signs a transaction for one account nonce: a settlement or, if `data` is null, an empty transfer that only uses up the nonce. */
export async function signTransaction(
  { account, address, network, clock }: Pick<Context, 'account' | 'address' | 'network' | 'clock'>,
  accountNonce: number,
  data: Hex | null,
  { gas, maxFeePerGas, maxPriorityFeePerGas }: TransactionGas,
): Promise<SignedTransaction> {
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: Number(network.chainId),
    nonce: accountNonce,
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    ...(data === null ? { to: address, value: 0n } : { to: network.usdc, data }),
  });
  const fills = data === null;
  return {
    hash: keccak256(raw),
    raw,
    accountNonce,
    signedAt: clock.now(),
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    fills,
  };
}
