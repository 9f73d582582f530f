import { encodeFunctionData, parseAbi } from 'viem';
import { keccak256 } from 'viem/utils';
import { type TestAccount, testAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { MULTICALL3_ADDRESS } from '../../src/local/chain/deploy-usdc.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { type Call, fund, waitForReceipt } from '../../src/local/chain/transactions.ts';
import { callAll } from '../../src/platform/chain/rpc.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { reorg, settleData, signAuthorization } from '../support/chain.ts';
import { transferData } from '../support/direct.ts';

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const USDC_UNITS = 10n ** 12n;
const WEI = 10n ** 24n;
const GAS = 500_000n;
const STRAYS = 20;
const FOR_EVER = 10n ** 11n;
const multicall = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'function aggregate3(Call3[] calls) payable',
]);

export interface Signed {
  raw: Hex;
  hash: Hex;
}

/** Position of a transfer in the current chain. */
export interface Place {
  hash: Hex;
  block: number;
  blockHash: string;
  logIndex: number;
  time: number;
}

export interface Point {
  number: number;
  time: number;
}

export interface Sight {
  latest: Point;
  finalized: Point;
  /** Positions of the requested transactions that are in a block. */
  places: Map<Hex, Place>;
}

/** Identifies the transfer that any one of these transactions makes. */
export interface Sought {
  hashes: readonly Hex[];
  from: Hex;
  to: Hex;
  units: bigint;
}

/** Transactions for the new blocks: signed bytes and index (from 0) of the new block. Within a block they keep the order of this list. */
export type Plan = readonly (readonly [Hex, number])[];

export interface ReorgChain {
  chain: LocalChain;
  sign(from: TestAccount, call: Call): Promise<Signed>;
  send(signed: Signed): Promise<void>;
  look(sought: readonly Sought[]): Promise<Sight>;
  /** Creates a stranger's transfer that is not in the chain below that block. */
  stray(forkBlock: number): Promise<Hex>;
  /** Creates one transaction in which the call follows a stranger's transfer. */
  batched(data: Hex): Promise<Call>;
  /** Replaces the last `depth` blocks, even if the same transactions return. */
  reorg(depth: number, plan: Plan): Promise<void>;
}

interface BlockJson {
  number: string;
  timestamp: string;
}

interface ReceiptJson {
  transactionHash: Hex;
  blockNumber: string;
  blockHash: string;
  status: string;
  logs: { topics: string[]; data: string; logIndex: string; address: string; blockTimestamp: string }[];
}

/** Opens a chain with one block per second, on which these accounts are funded. */
export async function openReorgChain(
  chain: LocalChain,
  payers: readonly TestAccount[],
  senders: readonly TestAccount[],
) {
  const strays = Array.from({ length: STRAYS }, (_, n) => testAccount(`stray ${n}`));
  await fund(
    chain,
    [...payers, ...strays].map(({ address }) => ({ address, usdcUnits: USDC_UNITS, wei: WEI })),
  );
  await fund(
    chain,
    senders.map(({ address }) => ({ address, wei: WEI })),
  );
  await chain.rpc.call('anvil_setBlockTimestampInterval', [1]);
  await chain.mine(2 * chain.finalityBlocks);
  let turn = 0;
  const nextStray = (): TestAccount => {
    turn += 1;
    return strays[turn % STRAYS] ?? WORLD_ACCOUNTS.stranger;
  };
  const stray = async (forkBlock: number): Promise<Hex> => {
    const from = nextStray();
    const { raw } = await signAt(chain, from, transferData(WORLD_ACCOUNTS.stranger.address, 1n), quantity(forkBlock));
    return raw;
  };
  const made: ReorgChain = {
    chain,
    sign: (from, call) => signAt(chain, from, call, 'latest'),
    send: async ({ raw, hash }) => {
      await chain.rpc.call('eth_sendRawTransaction', [raw]);
      await waitForReceipt(chain, hash);
    },
    look: (sought) => readSight(chain, sought),
    stray,
    batched: async (data) => ({ to: MULTICALL3_ADDRESS, data: await batchData(chain, nextStray(), data) }),
    reorg: async (depth, plan) => {
      const latest = Number(await chain.rpc.call('eth_blockNumber', []));
      await reorg(chain, depth, [
        ...plan.map(([raw, at]): [Hex, number] => [raw, at]),
        [await stray(latest - depth), 0],
      ]);
    },
  };
  return made;
}

const quantity = (number: number): string => `0x${number.toString(16)}`;

async function signAt(chain: LocalChain, from: TestAccount, call: Call, block: string): Promise<Signed> {
  const nonce = Number(await chain.rpc.call('eth_getTransactionCount', [from.address, block]));
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n };
  const raw = await from.signer.signTransaction({
    type: 'eip1559',
    chainId: chain.chainId,
    nonce,
    gas: GAS,
    ...fees,
    ...call,
  });
  return { raw, hash: keccak256(raw) };
}

async function batchData(chain: LocalChain, other: TestAccount, data: Hex): Promise<Hex> {
  const { address: to } = WORLD_ACCOUNTS.stranger;
  const nonce = toHex(systemRandom.bytes(32));
  const terms = { from: other.address, to, value: 1n, validAfter: 0n, validBefore: FOR_EVER, nonce };
  const before = settleData(terms, await signAuthorization(chain, other, terms));
  const calls = [before, data].map((callData) => ({ target: USDC_ADDRESS, allowFailure: false, callData }));
  return encodeFunctionData({ abi: multicall, functionName: 'aggregate3', args: [calls] });
}

async function readSight(chain: LocalChain, sought: readonly Sought[]): Promise<Sight> {
  const hashes = sought.flatMap((one) => one.hashes);
  const answers = await callAll(chain.rpc, [
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
    { method: 'eth_getBlockByNumber', params: ['finalized', false] },
    ...hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  ]);
  const [latest, finalized] = answers as BlockJson[];
  if (latest === undefined || finalized === undefined) throw new Error('no heads');
  const receipts = new Map((answers.slice(2) as (ReceiptJson | null)[]).map((one) => [one?.transactionHash, one]));
  const places = new Map<Hex, Place>();
  for (const one of sought) {
    for (const hash of one.hashes) {
      const place = placeIn(receipts.get(hash) ?? null, one);
      if (place !== null) places.set(hash, place);
    }
  }
  return { latest: pointOf(latest), finalized: pointOf(finalized), places };
}

const pointOf = ({ number, timestamp }: BlockJson): Point => ({ number: Number(number), time: Number(timestamp) });
const walletIn = (topic: string | undefined): string => `0x${(topic ?? '').slice(-40)}`;

function placeIn(receipt: ReceiptJson | null, { from, to, units }: Sought): Place | null {
  const log = receipt?.logs.find(
    ({ address, topics, data }) =>
      address === USDC_ADDRESS &&
      topics[0] === TRANSFER &&
      walletIn(topics[1]) === from &&
      walletIn(topics[2]) === to &&
      BigInt(data) === units,
  );
  if (!receipt || log === undefined) return null;
  const { transactionHash: hash, blockNumber, blockHash } = receipt;
  const time = Number(log.blockTimestamp);
  return { hash, block: Number(blockNumber), blockHash, logIndex: Number(log.logIndex), time };
}
