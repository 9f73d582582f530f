import { expect, test } from 'vitest';
import { createPace } from './create-follower.ts';
import type { Head } from './head.ts';

const POLL_MS = 200;
const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}` as const;

function headAt(number: number, timestamp: number): Head {
  const [hash, parentHash] = [hashOf(number), hashOf(number - 1)];
  return {
    number: BigInt(number),
    hash,
    parentHash,
    timestamp: BigInt(timestamp),
    transactions: [],
    baseFeePerGas: 1n,
  };
}

/** Follows a chain whose blocks appear at these moments. Returns how many polls each block took and how late it was seen. */
function followBlocks(blocks: readonly { timestamp: number; seenAt: number }[], startAt: number) {
  let now = startAt;
  const pace = createPace(POLL_MS, () => now);
  const newestAt = (): number => blocks.findLastIndex(({ seenAt }) => seenAt <= now);
  const looks: number[] = blocks.map(() => 0);
  const lateMs: number[] = [];
  let known = -1;
  while (known < blocks.length - 1) {
    now += pace.pauseMs();
    const at = newestAt();
    looks[known + 1] = (looks[known + 1] ?? 0) + 1;
    const block = blocks[at];
    if (block === undefined) continue;
    pace.observe(headAt(at + 1, block.timestamp));
    if (at > known) lateMs.push(now - block.seenAt);
    known = at;
  }
  return { looks, lateMs };
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

test('on a chain with a beat one look a block, and hardly later than it is there', () => {
  const blocks = Array.from({ length: 60 }, (_, n) => ({
    timestamp: 1_000 + 2 * n,
    seenAt: (1_000 + 2 * n) * 1000 + 430,
  }));
  const { looks, lateMs } = followBlocks(blocks, 1_000_000);
  // Leave out the first blocks, because the block time is not known yet.
  expect(mean(looks.slice(10))).toBeLessThan(1.6);
  expect(mean(lateMs.slice(10))).toBeLessThan(40);
  expect(Math.max(...lateMs.slice(10))).toBeLessThan(POLL_MS);
});

test('on a chain without one looks grow rarer, never rarer than asked for', () => {
  let seenAt = 1_000_000;
  const blocks = Array.from({ length: 40 }, (_, n) => {
    seenAt += 300 + ((n * 7_919) % 5_000);
    return { timestamp: Math.floor(seenAt / 1000), seenAt };
  });
  const { lateMs } = followBlocks(blocks, 1_000_000);
  expect(Math.max(...lateMs)).toBeLessThanOrEqual(POLL_MS);
});

test('where the clock is far from the chain nothing is waited for that long', () => {
  let now = 0;
  const pace = createPace(2, () => now);
  for (let number = 1; number < 20; number += 1) {
    pace.observe(headAt(number, 5_000_000 + number));
    const pauseMs = pace.pauseMs();
    expect(pauseMs).toBeLessThanOrEqual(20);
    now += pauseMs;
  }
});

test('after nothing was waited for, the first look comes soon, or when a block is due', () => {
  let now = 0;
  const pace = createPace(POLL_MS, () => now);
  expect(pace.pauseMs()).toBeLessThanOrEqual(10);
  for (let number = 1; number <= 8; number += 1) {
    now = number * 1000;
    pace.observe(headAt(number, number));
  }
  now = 60_400;
  pace.restart();
  expect(pace.pauseMs()).toBeGreaterThan(500);
  expect(pace.pauseMs()).toBeLessThanOrEqual(600);
});
