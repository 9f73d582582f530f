import { testAccount, USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { callAll } from '../../src/platform/chain/rpc.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { rawTransaction, reorg } from '../support/chain.ts';
import { latestSecond, nextBlockAt, type WorldTime } from '../support/direct.ts';
import type { Transfer, View } from './terms.ts';

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** Distance of the sites' clock behind the latest block's time in milliseconds, so that it never runs ahead. */
const BEHIND_MS = 500;
/** Shorter waits take real time; longer ones last until the end, so that no work starts on its own. */
const LONGEST_WAIT_MS = 30_000;

interface BlockJson {
  number: string;
  timestamp: string;
  transactions: Hex[];
}

interface LogJson {
  transactionHash: string;
  blockNumber: string;
  blockTimestamp: string;
  topics: string[];
  data: string;
}

/** Time of both sites, which follows the latest block and never goes back. */
export interface ModelTime extends WorldTime {
  follow(second: number): void;
}

export function createModelTime(): ModelTime {
  let now = systemClock.now();
  const follow = (second: number): void => {
    now = Math.max(now, second * 1_000 + BEHIND_MS);
  };
  const moveTo: WorldTime['moveTo'] = async (world, second) => {
    await nextBlockAt(world, second);
    await world.chain.mine();
    follow(second);
  };
  return {
    clock: {
      now: () => now,
      sleep: (ms, signal) => (ms <= LONGEST_WAIT_MS ? systemClock.sleep(ms, signal) : untilAborted(signal)),
    },
    follow,
    moveTo,
    moveOn: async (world, seconds) => {
      const second = (await latestSecond(world)) + seconds;
      await moveTo(world, second);
      return second;
    },
    shiftMarketClock: (seconds) => {
      now += seconds * 1_000;
    },
  };
}

function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Reads all transfers of USDC since that block, and both heads, in one batch. */
export async function readView({ rpc }: LocalChain, fromBlock: number | null): Promise<View> {
  const filter = {
    address: USDC_ADDRESS,
    topics: [TRANSFER],
    fromBlock: fromBlock === null ? 'latest' : quantity(fromBlock),
  };
  const [latest, finalized, logs] = (await callAll(rpc, [
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
    { method: 'eth_getBlockByNumber', params: ['finalized', false] },
    { method: 'eth_getLogs', params: [filter] },
  ])) as [BlockJson, BlockJson, LogJson[]];
  return { latest: pointOf(latest), finalized: pointOf(finalized), transfers: logs.map(transferOf) };
}

const quantity = (number: number): string => `0x${number.toString(16)}`;
const pointOf = ({ number, timestamp }: BlockJson) => ({ number: Number(number), time: Number(timestamp) });
const walletIn = (topic: string | undefined): string => `0x${(topic ?? '').slice(-40)}`;

function transferOf({ transactionHash, blockNumber, blockTimestamp, topics, data }: LogJson): Transfer {
  return {
    hash: transactionHash,
    from: walletIn(topics[1]),
    to: walletIn(topics[2]),
    units: BigInt(data),
    block: Number(blockNumber),
    time: Number(blockTimestamp),
  };
}

export interface Reorganisation {
  depth: number;
  /** Number of removed transactions, counted from the first, that return, each `shift` blocks later. */
  keep: number;
  shift: number;
}

/** Account that sends zero to itself in the first new block, so that no new block equals an old one. */
export const STRAY = testAccount('stray of the thing model');

async function strayTransaction(chain: LocalChain, forkBlock: number): Promise<Hex> {
  const nonce = Number(await chain.rpc.call('eth_getTransactionCount', [STRAY.address, quantity(forkBlock)]));
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n };
  const call = { to: STRAY.address, value: 0n, gas: 21_000n };
  return await STRAY.signer.signTransaction({ type: 'eip1559', chainId: chain.chainId, nonce, ...fees, ...call });
}

/** Removes the last blocks. Time moves on: the next block is later than the last removed one. */
export async function reorganise(chain: LocalChain, { depth, keep, shift }: Reorganisation): Promise<number> {
  const block = async (tag: string): Promise<BlockJson> =>
    (await chain.rpc.call('eth_getBlockByNumber', [tag, false])) as BlockJson;
  const latest = pointOf(await block('latest'));
  const first = latest.number - depth + 1;
  const kept: [Hex, number][] = [];
  for (let at = 0; at < depth; at += 1) {
    for (const hash of (await block(quantity(first + at))).transactions) {
      if (kept.length < keep) kept.push([await rawTransaction(chain, hash), Math.min(depth - 1, at + shift)]);
    }
  }
  await reorg(chain, depth, [...kept, [await strayTransaction(chain, first - 1), 0]]);
  await chain.rpc.call('evm_setNextBlockTimestamp', [latest.time + 1]);
  await chain.mine();
  return latest.time + 1;
}
