import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestChain } from '../../../test/support/chain.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import type { LocalChain } from '../../local/chain/start-chain.ts';
import { createProviders } from '../../platform/chain/providers.ts';
import { readBlock } from '../../platform/chain/reads.ts';
import { systemClock } from '../../platform/clock.ts';
import type { MarketConfig } from '../context.ts';
import { findBlockAt, readLatestBlockNumber } from './read-chain.ts';

let chain: LocalChain;
const config = (network = NETWORKS.base) => ({ network }) as MarketConfig;
const through = (...urls: [string, ...string[]]) => ({
  providers: createProviders(urls, systemClock),
  config: config(),
});
const DEAD = 'http://127.0.0.1:1';

/** Number and time (in seconds) of every block, oldest first. */
let blocks: { number: bigint; second: number }[];

beforeAll(async () => {
  chain = await startTestChain();
  // Blocks come in bursts after gaps of up to a day.
  for (const [gap, count] of [
    [5, 20],
    [86_400, 1],
    [1, 30],
    [3_600, 2],
    [7, 9],
  ] as const) {
    const newest = await readBlock(chain.rpc, 'latest');
    await chain.rpc.call('evm_setNextBlockTimestamp', [Number(newest?.timestamp ?? 0n) + gap]);
    await chain.mine(count);
  }
  const newest = (await readBlock(chain.rpc, 'latest'))?.number ?? 0n;
  const numbers = Array.from({ length: Number(newest) + 1 }, (_, number) => BigInt(number));
  const read = await Promise.all(numbers.map((number) => readBlock(chain.rpc, number)));
  blocks = read.flatMap((block) => (block === null ? [] : [{ number: block.number, second: Number(block.timestamp) }]));
});
afterAll(() => chain?.kill());

test('the first block at or after a time is found, for each time at and beside a block', async () => {
  const market = through(chain.url);
  for (const { second } of blocks) {
    for (const asked of [second - 1, second, second + 0.4]) {
      const expected = blocks.find((block) => block.second >= Math.floor(asked));
      const found = await findBlockAt(market, new Date(asked * 1000));
      expect({ asked, ...found }).toEqual({
        ...{ asked, number: expected?.number },
        time: new Date((expected?.second ?? 0) * 1000),
      });
    }
  }
  expect((await findBlockAt(market, new Date(0))).number).toBe(0n);
});

test('a time after the newest block is refused, and so is one that no provider can look for', async () => {
  const newest = blocks.at(-1);
  if (newest === undefined) throw new Error('the chain has no block');
  const later = new Date((newest.second + 1) * 1000);
  const refused = `no block is as late as ${later.toISOString()} yet: the newest is block ${newest.number} of`;
  await expect(findBlockAt(through(chain.url), later)).rejects.toThrow(refused);
  const dead = through(DEAD);
  await expect(findBlockAt(dead, later)).rejects.toThrow('no provider can be asked for the block of a time');
  await expect(readLatestBlockNumber(dead)).rejects.toThrow('no provider can be asked for the latest block');
  const elsewhere = { ...through(chain.url), config: config(NETWORKS['base-sepolia']) };
  await expect(findBlockAt(elsewhere, later)).rejects.toThrow('provider 1 is on chain 8453');
});

test('the next provider is asked where the first does not answer', async () => {
  const market = through(DEAD, chain.url);
  expect(await findBlockAt(market, new Date(0))).toMatchObject({ number: 0n });
  expect(await readLatestBlockNumber(market)).toBe(blocks.at(-1)?.number);
});
