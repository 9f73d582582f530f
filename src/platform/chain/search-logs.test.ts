import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { rawTransaction, reorg, startTestChain, usdcAdmin } from '../../../test/support/chain.ts';
import { createDice } from '../../../test/support/dice.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { type RpcProxy, startRpcProxy } from '../../../test/support/rpc-proxy.ts';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../local/chain/accounts.ts';
import type { LocalChain } from '../../local/chain/start-chain.ts';
import { systemRandom } from '../random.ts';
import { type BlockRange, logSpanOf } from './log-span.ts';
import { measureLogSpan } from './measure-log-span.ts';
import { type Log, readBlock, readLogs } from './reads.ts';
import { createRpc, type Rpc, RpcFailure } from './rpc.ts';
import { blocksBetween, SearchUnfinished, searchLogs } from './search-logs.ts';
import { addressTopic, TRANSFER_TOPIC } from './usdc.ts';

const { buyerOne, sellerOne, sellerTwo } = WORLD_ACCOUNTS;
const BLOCKS = 240n;
const MAX_QUERIES = 120;
const NEWEST_BLOCKS = 32n;

let chain: LocalChain;
let proxy: RpcProxy;
/** A fresh provider, whose block limit is still unknown. */
let rpc: Rpc;
/** Answered block ranges, in the order of the answers. */
let answered: BlockRange[];
let range: BlockRange;

const filter = (payee = sellerOne) => ({
  address: USDC_ADDRESS,
  topics: [TRANSFER_TOPIC, addressTopic(buyerOne.address), addressTopic(payee.address)],
});
const number = (value: unknown): bigint => BigInt(String(value));
const places = (logs: readonly Log[]): string[] => logs.map((log) => `${log.blockNumber} ${log.transactionHash}`);
const truth = async (payee = sellerOne, blocks = range): Promise<string[]> =>
  places(await readLogs(chain.rpc, { ...filter(payee), ...blocks }));
const latest = async (): Promise<bigint> => (await readBlock(chain.rpc, 'latest'))?.number ?? -1n;

/** Records each query and forwards it to the node. */
function watch(): void {
  answered = [];
  proxy.twist((result, { method, params }) => {
    const [{ fromBlock, toBlock }] = params as [{ fromBlock?: string; toBlock?: string }];
    if (method === 'eth_getLogs') answered.push({ fromBlock: number(fromBlock), toBlock: number(toBlock) });
    return result;
  });
}

beforeAll(async () => {
  chain = await startTestChain();
  proxy = await startRpcProxy();
  const fromBlock = (await latest()) + 1n;
  for (let block = 0n; block < BLOCKS; block += 40n) {
    await usdcAdmin(chain).transfer(buyerOne, sellerOne.address, block + 1n);
    await chain.mine(39);
  }
  range = { fromBlock, toBlock: await latest() };
});
beforeEach(() => {
  rpc = createRpc({ url: proxy.at(chain) });
  watch();
});
afterEach(() => {
  proxy.heal();
  vi.restoreAllMocks();
});
afterAll(async () => {
  await proxy?.close();
  await chain?.kill();
});

/** Repeats the search until it completes. Returns its logs and the number of reads. */
async function readToEnd(search: Parameters<typeof searchLogs>[1]): Promise<{ logs: Log[]; readings: number }> {
  for (let readings = 1; ; readings += 1) {
    try {
      return { logs: await searchLogs(rpc, search), readings };
    } catch (error) {
      if (!(error instanceof SearchUnfinished) || readings > 20) throw error;
    }
  }
}

describe('a provider that takes few blocks in one log query', () => {
  it.each([1, 5, 10, 100])('of %i blocks shows the same logs as one that takes all', async (most) => {
    const wanted = await truth();
    expect(wanted).toHaveLength(Number(BLOCKS / 40n));
    proxy.capLogs(most);
    const { logs } = await readToEnd({ ...filter(), ...range });
    expect(places(logs)).toEqual(wanted);
    expect(Number(logSpanOf(rpc))).toBeLessThanOrEqual(most);
    expect(Number(logSpanOf(rpc)) * 2).toBeGreaterThanOrEqual(most);
    expect(answered.every(({ fromBlock, toBlock }) => toBlock - fromBlock < BigInt(most))).toBe(true);
  });

  it('is asked for so many at once from then on, and for more after five minutes', async () => {
    const countQueries = async (payee = sellerTwo): Promise<number> => {
      const before = proxy.calls('eth_getLogs');
      await searchLogs(rpc, { ...filter(payee), ...range });
      return proxy.calls('eth_getLogs') - before;
    };
    proxy.capLogs(60);
    await countQueries(sellerOne);
    const span = logSpanOf(rpc);
    // One query for the newest blocks, then the queries for the rest.
    const queries = 1 + Math.ceil(Number(BLOCKS - NEWEST_BLOCKS) / Number(span));
    expect(await countQueries()).toBe(queries);
    const start = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => start + 299_000);
    expect(await countQueries(WORLD_ACCOUNTS.stranger)).toBe(queries);
    expect(logSpanOf(rpc)).toBe(span);
    vi.spyOn(performance, 'now').mockImplementation(() => start + 301_000);
    // Twice the limit is refused four times; after the first refusal, the first and the last block are queried alone.
    expect(await countQueries(WORLD_ACCOUNTS.treasury)).toBe(queries + 6);
    expect(logSpanOf(rpc)).toBe(span);
    proxy.capLogs(null);
    vi.spyOn(performance, 'now').mockImplementation(() => start + 700_000);
    await countQueries(WORLD_ACCOUNTS.facilitator);
    expect(logSpanOf(rpc)).toBeGreaterThan(span);
  });

  it('is asked at most 120 times a reading, and only for the newest blocks again', async () => {
    const wanted = await truth();
    proxy.capLogs(1);
    // Learn the limit first, so that only the queries of the search are counted below.
    await expect(readToEnd({ ...filter(sellerTwo), ...range })).resolves.toMatchObject({ logs: [] });
    watch();
    await expect(searchLogs(rpc, { ...filter(), ...range })).rejects.toThrow(SearchUnfinished);
    expect(answered.length).toBe(MAX_QUERIES);
    const { logs, readings } = await readToEnd({ ...filter(), ...range });
    expect([places(logs), readings]).toEqual([wanted, 2]);
    expect(answered.length).toBe(Number(BLOCKS + 2n * NEWEST_BLOCKS));
    const older = answered.filter(({ toBlock }) => toBlock <= range.toBlock - NEWEST_BLOCKS);
    expect(new Set(older.map(({ fromBlock }) => fromBlock)).size).toBe(older.length);
    // While the chain stays the same, only new blocks are read.
    await chain.mine(3);
    watch();
    await searchLogs(rpc, { ...filter(), ...range, toBlock: range.toBlock + 3n });
    expect(answered.length).toBe(Number(NEWEST_BLOCKS) + 3);
  });

  it('is asked again where its logs came later than its blocks', async () => {
    proxy.capLogs(1);
    const isEnough = ({ length }: readonly Log[]): boolean => length > 0;
    const search = { ...filter(), ...range, fromBlock: range.toBlock - 60n, isEnough };
    const wanted = await truth(sellerOne, search);
    expect(wanted).toHaveLength(1);
    proxy.twist((result, { method }) => (method === 'eth_getLogs' ? [] : result));
    expect(await searchLogs(rpc, search)).toEqual([]);
    watch();
    expect(places(await searchLogs(rpc, search))).toEqual(wanted);
  });

  it('is not asked further than to what is enough, the newest block first', async () => {
    proxy.capLogs(10);
    await searchLogs(rpc, { ...filter(sellerTwo), ...range });
    watch();
    const isEnough = ({ length }: readonly Log[]): boolean => length > 0;
    const newest = (await truth()).at(-1);
    const logs = await searchLogs(rpc, { ...filter(), ...range, isEnough });
    expect(places(logs).at(-1)).toBe(newest);
    expect(answered.length).toBeLessThan(12);
  });
});

describe('trouble that is no refusal of so many blocks', () => {
  it.each([
    ['a cut connection', () => proxy.silence(true), 1],
    ['a rate limit', () => proxy.play('http_429', { seed: 1 }), 1],
    ['a limit of what may be asked at all', () => proxy.play('json_rpc_error', { seed: 1 }), 3],
    ['a refusal of single blocks too', () => proxy.capLogs(0), 3],
  ])('%s is told at once, and nothing is learned of it', async (_, break_, queries) => {
    break_();
    const before = proxy.calls('eth_getLogs');
    await expect(searchLogs(rpc, { ...filter(), ...range })).rejects.toThrow(RpcFailure);
    expect(proxy.calls('eth_getLogs') - before).toBe(queries);
    proxy.heal();
    watch();
    expect(places(await searchLogs(rpc, { ...filter(), ...range }))).toEqual(await truth());
    expect(answered).toEqual([range]);
  });

  it('an error that comes once is not taken for one', async () => {
    let errors = 1;
    const stumbling = {
      ...rpc,
      call: async (method: string, params: readonly unknown[]) => {
        errors -= 1;
        if (errors >= 0) throw new RpcFailure('error', `${method}: error -32603: internal error`, { code: -32_603 });
        return await rpc.call(method, params);
      },
    };
    expect(places(await searchLogs(stumbling, { ...filter(), ...range }))).toEqual(await truth());
    expect(answered.at(-1)).toEqual(range);
    expect(logSpanOf(stumbling)).toBe(2_000n);
  });

  it('a provider that does not have the last block, after a reorganisation or as it lags, is not asked for less', async () => {
    const beyond = { ...range, toBlock: (await latest()) + 1_000n };
    const wanted = new RegExp(`error -32000: .*${beyond.toBlock}`);
    const lagging = {
      ...rpc,
      call: async (method: string, params: readonly unknown[]) => {
        const [{ toBlock }] = params as [{ toBlock: string }];
        if (number(toBlock) > range.toBlock)
          throw new RpcFailure('error', `${method}: error -32000: unknown block ${number(toBlock)}`, { code: -32_000 });
        return await rpc.call(method, params);
      },
    };
    await expect(searchLogs(lagging, { ...filter(), ...beyond })).rejects.toThrow(wanted);
    expect(places(await searchLogs(lagging, { ...filter(), ...range }))).toEqual(await truth());
    // The last block may be refused before the first one is answered.
    await expect.poll(() => answered).toHaveLength(2);
    expect(answered).toEqual(expect.arrayContaining([{ fromBlock: range.fromBlock, toBlock: range.fromBlock }, range]));
  });
});

it('what was read of a chain that is gone is read again', async () => {
  const own = await startTestChain();
  try {
    rpc = createRpc({ url: proxy.at(own) });
    const { transactionHash, blockNumber } = await usdcAdmin(own).transfer(buyerOne, sellerOne.address, 7n);
    const raw = await rawTransaction(own, transactionHash);
    await own.mine(199);
    const search = { ...filter(), fromBlock: blockNumber, toBlock: blockNumber + 199n };
    proxy.capLogs(1);
    await expect(searchLogs(rpc, search)).rejects.toThrow(SearchUnfinished);
    // The transfer moves into blocks that were already read.
    await reorg(own, 200, [[raw, 150]]);
    const { logs } = await readToEnd(search);
    expect(logs.map((log) => log.transactionHash)).toEqual([transactionHash]);
    expect(logs[0]?.blockNumber).toBeGreaterThan(blockNumber + 100n);
  } finally {
    await own.kill();
  }
});

it('a chain that changes between two queries of one reading is an error, and not two halves', async () => {
  const own = await startTestChain();
  try {
    rpc = createRpc({ url: proxy.at(own) });
    const { blockNumber } = await usdcAdmin(own).transfer(buyerOne, sellerOne.address, 7n);
    await own.mine(190);
    // The reorganisation drops this transfer. If all blocks were empty, they would come back with the same hashes.
    await usdcAdmin(own).transfer(buyerOne, sellerTwo.address, 7n);
    await own.mine(8);
    const search = { ...filter(), fromBlock: blockNumber, toBlock: blockNumber + 199n };
    proxy.capLogs(50);
    let queries = 0;
    const changing: Rpc = {
      ...rpc,
      call: async (method, params, options) => {
        if (method === 'eth_getLogs') queries += 1;
        // Thirteen queries find the limit, and the next one reads the newest blocks.
        if (method === 'eth_getLogs' && queries === 15) await reorg(own, 20);
        return await rpc.call(method, params, options);
      },
    };
    await expect(searchLogs(changing, search)).rejects.toThrow('changed its chain');
    expect(await searchLogs(changing, search)).toHaveLength(1);
  } finally {
    await own.kill();
  }
});

it('the blocks of some seconds are found however unevenly they come', async () => {
  const seed = systemRandom.bytes(4).readUInt32BE();
  const dice = createDice(seed);
  const first = (await latest()) + 1n;
  let time = Number((await readBlock(chain.rpc, 'latest'))?.timestamp ?? 0n);
  const times: bigint[] = [];
  for (let n = 0; n < 60; n += 1) {
    time += 1 + (dice.chance(0.1) ? dice.number(5_000) : dice.number(3));
    await chain.rpc.call('evm_setNextBlockTimestamp', [time]);
    await chain.mine();
    times.push(BigInt(time));
  }
  const all = { fromBlock: first, toBlock: first + 59n };
  const edges = [times[0] ?? 0n, times[59] ?? 0n];
  for (let round = 0; round < 40; round += 1) {
    const [from, before] = [0, 1].map(() => (edges[0] ?? 0n) - 10n + BigInt(dice.number(time + 20 - Number(edges[0]))));
    const at = (seconds: bigint): bigint => first + BigInt(times.filter((one) => one < seconds).length);
    const narrowed = await blocksBetween(rpc, all, { from: from ?? 0n, before: before ?? 0n });
    expect(narrowed, `seed ${seed}`).toEqual({ fromBlock: at(from ?? 0n), toBlock: at(before ?? 0n) - 1n });
  }
});

it('a start is told of a provider that takes fewer blocks than finality needs, and of no other', async () => {
  const { log, lines } = recordingLog();
  const distant = await startTestChain({ finalityBlocks: 60 });
  try {
    rpc = createRpc({ url: `${proxy.at(distant)}/key-of-this-plan` });
    await measureLogSpan(rpc, { usdc: USDC_ADDRESS, log });
    expect(lines).toEqual([]);
    proxy.capLogs(10);
    await measureLogSpan(rpc, { usdc: USDC_ADDRESS, log });
    const fields = { endpoint: `${proxy.url}/...`, blocks_taken: 7, blocks_needed: 61 };
    expect(lines).toEqual([{ level: 'warn', event: 'log_span_short', fields }]);
    proxy.capLogs(0);
    await measureLogSpan(createRpc({ url: proxy.url }), { usdc: USDC_ADDRESS, log });
    expect(lines.at(-1)).toMatchObject({ level: 'warn', event: 'log_span_unknown', fields: { endpoint: proxy.url } });
  } finally {
    await distant.kill();
  }
});
