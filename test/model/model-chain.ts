import { testAccount, USDC_ADDRESS, USDC_ROLES, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { callAll, type RpcCall } from '../../src/platform/chain/rpc.ts';
import { AUTHORIZATION_USED_TOPIC, TRANSFER_TOPIC } from '../../src/platform/chain/usdc.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { reorg, startTestChain } from '../support/chain.ts';
import type { Transfer, View } from './terms.ts';

export const FINALITY_BLOCKS = 4;
export const PLENTY = 10n ** 15n;
const WEI = 10n ** 24n;
/** Timeout for a block that anvil cannot find by name. Generous, for a busy machine. */
const NAMELESS_MS = 20_000;

/** A chain whose time comes from its blocks alone. Each block is one second after the previous one, unless `wait` says more. */
export interface ModelChain {
  chain: LocalChain;
  /** Returns the transfers since that block and the failed ones among the sent transactions. */
  view(fromBlock: number | null, sent: readonly string[]): Promise<View>;
  /** Mines a block that many seconds later. */
  wait(seconds: number): Promise<void>;
  finalize(): Promise<void>;
  /** Removes the last `depth` blocks. The first `keep` of their transactions return, each `shift` blocks later. */
  reorg(depth: number, keep: number, shift: number): Promise<void>;
}

interface BlockJson {
  number: string;
  timestamp: string;
  transactions: Hex[];
}

interface LogJson {
  transactionHash: string;
  logIndex: string;
  blockNumber: string;
  blockTimestamp: string;
  topics: string[];
  data: string;
}

export async function startModelChain(wallets: readonly Hex[]): Promise<ModelChain> {
  const chain = await startTestChain({ finalityBlocks: FINALITY_BLOCKS });
  await fund(
    chain,
    wallets.map((address) => ({ address, usdcUnits: PLENTY, wei: WEI })),
  );
  const spenders = [WORLD_ACCOUNTS.facilitator, WORLD_ACCOUNTS.treasury, USDC_ROLES.minter];
  await fund(
    chain,
    spenders.map(({ address }) => ({ address, wei: WEI })),
  );
  await chain.rpc.call('anvil_setBlockTimestampInterval', [1]);
  await chain.mine(2 * FINALITY_BLOCKS);

  const block = async (tag: string): Promise<BlockJson> => (await chain.rpc.call(...asCall(tag))) as BlockJson;
  const mineAt = async (second: number): Promise<void> => {
    await chain.rpc.call('evm_setNextBlockTimestamp', [second]);
    await chain.mine();
  };
  return {
    chain,
    view: (fromBlock, sent) => readView(chain, fromBlock, sent),
    wait: async (seconds) => mineAt(Number((await block('latest')).timestamp) + seconds),
    finalize: () => chain.mine(FINALITY_BLOCKS),
    reorg: async (depth, keep, shift) => {
      const latest = await block('latest');
      const first = Number(latest.number) - depth + 1;
      const kept: [Hex, number][] = [];
      for (let at = 0; at < depth && kept.length < keep; at += 1) {
        for (const hash of (await block(quantity(first + at))).transactions.slice(0, keep - kept.length)) {
          const raw = (await chain.rpc.call('eth_getRawTransactionByHash', [hash])) as Hex;
          kept.push([raw, Math.min(depth - 1, at + shift)]);
        }
      }
      await reorg(chain, depth, kept);
      // Time moves on although blocks were removed.
      await mineAt(Number(latest.timestamp) + 1);
    },
  };
}

export const sellerOfModel = testAccount('model seller');
export const authorizationName = (payer: string, nonce: string): string => `${payer} ${nonce}`;

const quantity = (number: number): string => `0x${number.toString(16)}`;
const asCall = (tag: string): [string, unknown[]] => ['eth_getBlockByNumber', [tag, false]];
const blockCall = (tag: string): RpcCall => ({ method: asCall(tag)[0], params: asCall(tag)[1] });

async function readView(chain: LocalChain, fromBlock: number | null, sent: readonly string[]): Promise<View> {
  const filter = {
    address: USDC_ADDRESS,
    topics: [[TRANSFER_TOPIC, AUTHORIZATION_USED_TOPIC]],
    fromBlock: fromBlock === null ? 'latest' : quantity(fromBlock),
  };
  const read = async () =>
    (await callAll(chain.rpc, [
      blockCall('latest'),
      blockCall('finalized'),
      { method: 'eth_getLogs', params: [filter] },
    ])) as [BlockJson | null, BlockJson | null, LogJson[]];
  let [latest, finalized, logs] = await read();
  const isNameless = (): boolean => latest === null || finalized === null;
  // After a reorganization, anvil very rarely cannot find a block by its name for a moment, which is long on a busy machine.
  for (const until = performance.now() + NAMELESS_MS; isNameless() && performance.now() < until; )
    [latest, finalized, logs] = await read();
  if (latest === null || finalized === null) throw new Error('the chain has no latest or no finalized block');
  const transfers = transfersIn(logs);
  const silent = sent.filter((hash) => transfers.every((one) => one.hash !== hash));
  const failed = await readFailed(chain, silent);
  return { latest: pointOf(latest), finalized: pointOf(finalized), transfers: [...transfers, ...failed] };
}

/** Returns the reverted ones among these transactions. They are in the chain but move nothing. */
async function readFailed(chain: LocalChain, hashes: readonly string[]): Promise<Transfer[]> {
  const asked = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }));
  const receipts = (await callAll(chain.rpc, asked)) as ({ transactionHash: string; blockNumber: string } | null)[];
  return receipts.flatMap((receipt) => {
    if (receipt === null) return [];
    const { transactionHash: hash, blockNumber } = receipt;
    return { hash, from: '', to: '', units: 0n, block: Number(blockNumber), time: 0, authorization: null };
  });
}

const pointOf = ({ number, timestamp }: BlockJson) => ({ number: Number(number), time: Number(timestamp) });
const walletIn = (topic: string | undefined): string => `0x${(topic ?? '').slice(-40)}`;

/** Reads transfers from logs. The token emits the use of an authorization directly before the transfer that it made. */
function transfersIn(logs: readonly LogJson[]): Transfer[] {
  const used = new Map<string, string>();
  for (const { topics, transactionHash, logIndex } of logs) {
    if (topics[0] !== AUTHORIZATION_USED_TOPIC) continue;
    used.set(`${transactionHash} ${Number(logIndex) + 1}`, authorizationName(walletIn(topics[1]), topics[2] ?? ''));
  }
  return logs
    .filter(({ topics }) => topics[0] === TRANSFER_TOPIC)
    .map(({ transactionHash, logIndex, blockNumber, blockTimestamp, topics, data }) => ({
      hash: transactionHash,
      from: walletIn(topics[1]),
      to: walletIn(topics[2]),
      units: BigInt(data),
      block: Number(blockNumber),
      time: Number(blockTimestamp),
      authorization: used.get(`${transactionHash} ${Number(logIndex)}`) ?? null,
    }));
}
