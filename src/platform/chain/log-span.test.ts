import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDice } from '../../../test/support/dice.ts';
import { USDC_ADDRESS } from '../../local/chain/accounts.ts';
import { logSpanOf, readLogsAt } from './log-span.ts';
import { createRpc, type Rpc, RpcFailure } from './rpc.ts';

const SPAN = 2_000;
const RANGE = { fromBlock: 1n, toBlock: BigInt(SPAN) };
const FILTER = { address: USDC_ADDRESS, topics: [] };
const REFRESH_SECONDS = 300;

let seconds: number;
beforeEach(() => {
  seconds = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => seconds * 1_000);
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface TestNode {
  rpc: Rpc;
  /** Number of blocks in each query, answered or refused. */
  sizes: number[];
}

/** Simulates a node without logs that accepts at most `most` blocks per query. `stumbles` decides whether an unrelated error occurs. */
function createNode(most: number, stumbles: () => boolean = () => false): TestNode {
  const sizes: number[] = [];
  const call = async (_: string, [filter]: readonly unknown[]): Promise<unknown> => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    const blocks = Number(BigInt(toBlock) - BigInt(fromBlock)) + 1;
    sizes.push(blocks);
    if (stumbles()) throw new RpcFailure('error', 'error -32603: internal error', { code: -32_603 });
    if (blocks > most) throw new RpcFailure('error', `error -32600: up to a ${most} block range`, { code: -32_600 });
    return [];
  };
  return { rpc: { ...createRpc({ url: 'http://127.0.0.1:1' }), call }, sizes };
}

/** Reads a range once a second, as the market does for new payments. Returns the span after each read. */
async function readFor(hours: number, { rpc }: TestNode): Promise<number[]> {
  const spans: number[] = [];
  for (const end = seconds + hours * 3_600; seconds < end; seconds += 1) {
    let { toBlock } = RANGE;
    try {
      while (toBlock >= RANGE.fromBlock)
        toBlock = (await readLogsAt('newest', rpc, FILTER, { ...RANGE, toBlock })).fromBlock - 1n;
    } catch (error) {
      // The caller sees the error; the next read continues.
      if (!(error instanceof RpcFailure)) throw error;
    }
    spans.push(Number(logSpanOf(rpc)));
  }
  return spans;
}

describe('errors that come and go', () => {
  it.each([
    [0.01, 1],
    [0.03, 2],
    [0.1, 3],
    [0.1, 4],
    [0.1, 5],
  ])('in %d of all queries leave the span as it is, seed %i', async (rate, seed) => {
    const dice = createDice(seed);
    const spans = await readFor(
      2,
      createNode(SPAN, () => dice.chance(rate)),
    );
    const whole = spans.filter((span) => span >= SPAN).length / spans.length;
    console.error(
      `seed ${seed}, ${rate} errors: the whole span in ${whole} of all readings, at least ${Math.min(...spans)}`,
    );
    expect(Math.min(...spans)).toBeGreaterThanOrEqual(SPAN / 4);
    expect(whole).toBeGreaterThan(0.85);
  });

  it('do not keep the span below what a node takes', async () => {
    const dice = createDice(6);
    const most = 500;
    const spans = await readFor(
      2,
      createNode(most, () => dice.chance(0.1)),
    );
    const settled = spans.slice(REFRESH_SECONDS);
    const whole = settled.filter((span) => span >= most).length / settled.length;
    console.error(`seed 6, 0.1 errors, ${most} taken: ${whole} of all readings, at least ${Math.min(...settled)}`);
    expect(Math.min(...settled)).toBeGreaterThanOrEqual(most / 4);
    expect(whole).toBeGreaterThan(0.7);
  });
});

describe('a limit of blocks', () => {
  /** Expects six queries for each halving, plus the one that is answered. */
  it.each([
    [1_000, 1_000, 7],
    [500, 500, 13],
    [10, 7, 49],
    [1, 1, 61],
  ])('of %i is learned: a span of %i after %i queries', async (most, span, queries) => {
    const node = createNode(most);
    const part = await readLogsAt('newest', node.rpc, FILTER, RANGE);
    expect([part.toBlock - part.fromBlock + 1n, logSpanOf(node.rpc)]).toEqual([BigInt(span), BigInt(span)]);
    expect(node.sizes).toHaveLength(queries);
  });

  it('is tried again after five minutes, for six queries', async () => {
    const node = createNode(10);
    await readFor(0.1, node);
    const [span, before] = [logSpanOf(node.rpc), node.sizes.length];
    const minutes = 15;
    const spans = await readFor(minutes / 60, node);
    expect(new Set(spans.filter((one) => BigInt(one) !== span)).size).toBeLessThanOrEqual(1);
    const larger = node.sizes.slice(before).filter((blocks) => BigInt(blocks) > span);
    expect(larger.every((blocks) => BigInt(blocks) === 2n * span)).toBe(true);
    expect(larger).toHaveLength((minutes / 5) * 4);
  });

  it('that many queries meet at once halves the span no further than to what is taken', async () => {
    const node = createNode(500);
    const parts = await Promise.all(Array.from({ length: 16 }, () => readLogsAt('newest', node.rpc, FILTER, RANGE)));
    expect(new Set(parts.map(({ fromBlock }) => fromBlock))).toEqual(new Set([RANGE.toBlock - 499n]));
    expect(logSpanOf(node.rpc)).toBe(500n);
    expect(node.sizes.length).toBeLessThanOrEqual(16 * 13);
  });
});
