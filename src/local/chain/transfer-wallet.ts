import { encodeFunctionData } from 'viem';
import { readBlock, readLogs } from '../../platform/chain/reads.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import type { FindTransfer, TransferWallet } from '../../sdk/payments/direct/transfer-options.ts';
import type { TestAccount } from './accounts.ts';
import { submit } from './send-transaction.ts';
import type { LocalChain } from './start-chain.ts';
import { usdcWriteAbi } from './usdc-contract.ts';

/** An account of the local world that sends USDC itself. It needs ether for the gas, where x402 needs none. */
export function transferWallet(chain: LocalChain, account: TestAccount): TransferWallet {
  return {
    address: account.address,
    signMessage: ({ message }) => account.signer.signMessage({ message }),
    sendUsdc: async ({ to, units, asset, chainId }) => {
      if (chainId !== chain.chainId) throw new TypeError(`this wallet is on chain ${chain.chainId}`);
      const data = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args: [to, units] });
      return await submit(chain, account, { to: asset, data });
    },
  };
}

/** Looks among the token's Transfer events, as a payer does who crashed before the hash was known. */
export function transferFinder(chain: LocalChain): FindTransfer {
  return async ({ from, to, units, asset, since, until }) => {
    const topics = [TRANSFER_TOPIC, addressTopic(lowerCase(from)), addressTopic(lowerCase(to))];
    const logs = await readLogs(chain.rpc, { address: lowerCase(asset), topics, fromBlock: 0n });
    const fitting: Hex[] = [];
    for (const log of logs.filter((one) => decodeTransfer(one)?.value === units)) {
      const block = await readBlock(chain.rpc, log.blockNumber);
      const atMs = Number(block?.timestamp ?? 0n) * 1_000;
      if (atMs >= Date.parse(since) && atMs < Date.parse(until)) fitting.push(log.transactionHash);
    }
    // Of two it cannot be told which one was meant.
    return fitting.length === 1 ? (fitting[0] ?? null) : null;
  };
}

function lowerCase(address: string): Hex {
  const lower = address.toLowerCase();
  if (!isHex(lower, 20)) throw new TypeError('an address is 0x and 40 hex digits');
  return lower;
}
