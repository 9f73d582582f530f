import { encodeFunctionData, multicall3Abi } from 'viem';
import { testAccount, USDC_ADDRESS, usdcWriteAbi } from '../src/local/chain/accounts.ts';
import { MULTICALL3_ADDRESS } from '../src/local/chain/deploy-usdc.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { fund } from '../src/local/chain/transactions.ts';
import { readBalance } from '../src/platform/chain/usdc.ts';
import type { Heads } from './heads.ts';
import { FOREIGN_TRANSFERS } from './settings.ts';
import { openWire, requestBytes } from './wire.ts';

export interface ForeignTransfers {
  /** Starts sending one call per block. */
  start(): Promise<void>;
  /** Stops and returns the number of transfers per block. */
  stop(): Promise<number>;
}

const UNITS = 10n ** 15n;
const WEI = 1_000_000n * 10n ** 18n;
const GAS = 30_000_000n;
const FEE_LIMIT = 100_000_000_000n;
const TIP = 1_000_000_000n;

/**
 * Prepares transfers of USDC between strangers, so that blocks have logs as on a real chain: one call of Multicall3, which pays from its
 * own balance. An unlocked account sends the same bytes each time, so no signing disturbs the measurement.
 */
export async function prepareForeignTransfers(
  chain: LocalChain,
  heads: Heads,
  begun: AsyncDisposableStack,
): Promise<ForeignTransfers> {
  const sender = testAccount('bench stranger').address;
  await fund(chain, [
    { address: MULTICALL3_ADDRESS, usdcUnits: UNITS },
    { address: sender, wei: WEI },
  ]);
  await chain.rpc.call('anvil_impersonateAccount', [sender]);
  const wire = await openWire(chain.url, { keepBody: true });
  begun.defer(() => wire.close());
  const request = requestBytes(chain.url, { method: 'POST', path: '/', body: callOf(sender) });
  const balance = (): Promise<bigint> => readBalance(chain.rpc, USDC_ADDRESS, MULTICALL3_ADDRESS);
  let running = false;
  let sending: Promise<unknown> = Promise.resolve();
  let from = { block: 0, units: 0n };
  heads.onHead(() => {
    if (!running) return;
    sending = sending.then(() => wire.ask(request));
    // `stop` reports the failure.
    sending.catch(() => {});
  });
  return {
    start: async () => {
      from = { block: heads.latest(), units: await balance() };
      running = true;
    },
    stop: async () => {
      running = false;
      await sending;
      return Number(from.units - (await balance())) / Math.max(1, heads.latest() - from.block);
    },
  };
}

function callOf(sender: string): object {
  const calls = Array.from({ length: FOREIGN_TRANSFERS }, (_, n) => ({
    target: USDC_ADDRESS,
    allowFailure: false,
    callData: encodeFunctionData({
      abi: usdcWriteAbi,
      functionName: 'transfer',
      args: [testAccount(`bench stranger ${n}`).address, 1n],
    }),
  }));
  const hex = (value: bigint): string => `0x${value.toString(16)}`;
  const transaction = {
    ...{ from: sender, to: MULTICALL3_ADDRESS },
    data: encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] }),
    ...{ gas: hex(GAS), maxFeePerGas: hex(FEE_LIMIT), maxPriorityFeePerGas: hex(TIP) },
  };
  return { jsonrpc: '2.0', id: 1, method: 'eth_sendTransaction', params: [transaction] };
}
