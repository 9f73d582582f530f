import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../src/local/chain/accounts.ts';
import { startAnvil } from '../src/local/chain/anvil-process.ts';
import { deployUsdc } from '../src/local/chain/deploy-usdc.ts';
import { findAnvil, LOCAL_CHAIN_ID, type LocalChain } from '../src/local/chain/start-chain.ts';
import { fund } from '../src/local/chain/transactions.ts';
import { createRpc } from '../src/platform/chain/rpc.ts';
import { CHAIN_SETTINGS, PAYERS, SENDERS } from './settings.ts';

const ETHER = 10n ** 18n;
const PAYER_UNITS = 1_000_000_000_000n;
const RPC_MS = 30_000;

/** Starts a chain with the real USDC and funds every account of the benchmark. */
export async function startFundedChain(begun: AsyncDisposableStack): Promise<LocalChain> {
  const { blockEverySeconds, finalityBlocks } = CHAIN_SETTINGS;
  const chain = await startAnvilChain(finalityBlocks, ['--block-time', String(blockEverySeconds)]);
  begun.defer(() => chain.stop());
  await fundAll(chain);
  return chain;
}

/** Deploys the real USDC and funds every account of the benchmark. */
export async function fundAll(chain: LocalChain): Promise<void> {
  await deployUsdc(chain);
  await fund(chain, [
    { address: WORLD_ACCOUNTS.facilitator.address, wei: 1_000n * ETHER },
    ...Array.from({ length: SENDERS }, (_, n) => ({ address: senderAccount(n).address, wei: 1_000n * ETHER })),
    ...Array.from({ length: PAYERS }, (_, n) => ({ address: payerAccount(n).address, usdcUnits: PAYER_UNITS })),
    ...Array.from({ length: PAYERS }, (_, n) => ({ address: stockPayerAccount(n).address, usdcUnits: PAYER_UNITS })),
  ]);
}

/**
 * Starts the project's local chain with a fixed block interval. With a block per transaction, transfers/s fell to a tenth within some
 * thousand transfers, while a fixed interval keeps them constant. No other call may mine during a measurement, because a transfer was once
 * in no block after a minute when other calls mined.
 */
export async function startAnvilChain(finalityBlocks: number, more: readonly string[]): Promise<LocalChain> {
  const anvil = await startAnvil(findAnvil(), [
    ...['--host', '127.0.0.1', '--port', '0', '--no-cors', '--chain-id', String(LOCAL_CHAIN_ID)],
    ...['--slots-in-an-epoch', String(finalityBlocks / 2), '--accounts', '0', '--gas-limit', '300000000'],
    ...more,
  ]);
  const url = `http://127.0.0.1:${anvil.port}`;
  const rpc = createRpc({ url, deadlineMs: RPC_MS });
  await rpc.call('anvil_setLoggingEnabled', [false]);
  return {
    url,
    rpc,
    port: anvil.port,
    pid: anvil.pid,
    chainId: LOCAL_CHAIN_ID,
    finalityBlocks,
    // Deployment and funding then wait for a block instead of mining one, because the chain mines on its own.
    automine: true,
    mine: async (blocks = 1) => {
      await rpc.call('anvil_mine', [`0x${blocks.toString(16)}`]);
    },
    stop: () => anvil.stop(),
    kill: () => anvil.kill(),
  };
}

export function payerAccount(n: number): TestAccount {
  return testAccount(`bench payer ${n % PAYERS}`);
}

/** Returns an account that buys from the stock seller. Purchases are identified by payer, payee and price. */
export function stockPayerAccount(n: number): TestAccount {
  return testAccount(`bench stock payer ${n % PAYERS}`);
}

export function senderAccount(n: number): TestAccount {
  return testAccount(`bench sender ${n % SENDERS}`);
}
