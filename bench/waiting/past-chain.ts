import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';
import { settleData } from '../../test/support/chain.ts';
import { fundAll, startAnvilChain } from '../chain.ts';
import { BLOCK_SECONDS, FINALITY_BLOCKS } from './settings.ts';
import type { Signed } from './sign-payments.ts';

/** A payment made before the market started. */
export interface Transferred extends Signed {
  txHash: Hex;
  blockNumber: number;
  blockTime: Date;
}

export interface PastChain {
  chain: LocalChain;
  transferred: Transferred[];
}

/** Chain time reserved for setup. Its blocks are a second apart and come before all others. */
const SET_UP_SECONDS = 3_600;
const GAS = 200_000n;
const FEE_LIMIT = 100_000_000_000n;
const TIP = 1_000_000_000n;

/**
 * Starts a chain with the block time of a real one, and a past as long as finality. Transfers are spread evenly over its blocks from
 * `firstBlock` on, like twenty minutes of purchases, but without the wait.
 */
export async function startPastChain(
  begun: AsyncDisposableStack,
  given: { firstBlock: number; sign(chain: LocalChain): Promise<Signed[]> },
): Promise<PastChain> {
  const past = FINALITY_BLOCKS * BLOCK_SECONDS;
  const begin = Math.floor(systemClock.now() / 1_000) - past;
  const chain = await startAnvilChain(FINALITY_BLOCKS, ['--timestamp', String(begin - SET_UP_SECONDS)]);
  begun.defer(() => chain.stop());
  await fundAll(chain);
  const payments = await given.sign(chain);
  await chain.rpc.call('evm_setAutomine', [false]);
  await mineAt(chain, Math.floor(systemClock.now() / 1_000) - past);
  await chain.rpc.call('anvil_setBlockTimestampInterval', [BLOCK_SECONDS]);
  const transferred: Transferred[] = [];
  const filled = FINALITY_BLOCKS - given.firstBlock;
  for (let block = 0; block < FINALITY_BLOCKS; block += 1) {
    const until = Math.max(0, Math.ceil(((block + 1 - given.firstBlock) * payments.length) / filled));
    const due = payments.slice(transferred.length, until);
    const hashes = await submitAll(chain, due, transferred.length);
    await chain.mine();
    if (due.length > 0) transferred.push(...(await locate(chain, due, hashes)));
  }
  await chain.rpc.call('anvil_removeBlockTimestampInterval', []);
  await mineAt(chain, Math.floor(systemClock.now() / 1_000));
  await chain.rpc.call('evm_setIntervalMining', [BLOCK_SECONDS]);
  return { chain, transferred };
}

async function mineAt(chain: LocalChain, second: number): Promise<void> {
  await chain.rpc.call('evm_setNextBlockTimestamp', [second]);
  await chain.mine();
}

/** Submits from the market's facilitator account. The facilitator reads its account nonce from the chain when it starts. */
async function submitAll(chain: LocalChain, payments: readonly Signed[], sent: number): Promise<Hex[]> {
  const raw = await Promise.all(
    payments.map(({ authorization, signature }, at) =>
      WORLD_ACCOUNTS.facilitator.signer.signTransaction({
        ...{ type: 'eip1559', chainId: chain.chainId, nonce: sent + at, gas: GAS },
        ...{ maxFeePerGas: FEE_LIMIT, maxPriorityFeePerGas: TIP },
        ...{ to: USDC_ADDRESS, data: settleData(authorization, signature) },
      }),
    ),
  );
  return await Promise.all(
    raw.map(async (bytes) => {
      const hash = await chain.rpc.call('eth_sendRawTransaction', [bytes]);
      if (!isHex(hash, 32)) throw new Error('the node gave no transaction hash');
      return hash;
    }),
  );
}

async function locate(chain: LocalChain, payments: readonly Signed[], hashes: readonly Hex[]): Promise<Transferred[]> {
  const block = await readBlock(chain.rpc, 'latest');
  if (block === null) throw new Error('no block');
  const at = { blockNumber: Number(block.number), blockTime: new Date(Number(block.timestamp) * 1_000) };
  return payments.map((payment, n) => {
    const txHash = hashes[n];
    if (txHash === undefined) throw new Error('a transfer without a hash');
    return { ...payment, ...at, txHash };
  });
}
