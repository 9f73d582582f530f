import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { type Budget, createBudget } from '../budget.ts';
import { systemClock } from '../clock.ts';
import { systemRandom } from '../random.ts';
import { createClientNames } from './client-network.ts';
import { createMeasureReads } from './from-memory.ts';

const request = (remoteAddress: string): IncomingMessage => ({ socket: { remoteAddress }, headers: {} }) as never;

test('slow reads are charged to the client that sent them, and quick ones to none', () => {
  const clock = { ...systemClock, now: () => 0 };
  const budget: Budget = createBudget({
    ...{ clock, random: systemRandom, windowSeconds: 60, networksPerSite: 10 },
    perNetwork: { name: 'read_ms_per_ip_minute', limit: 100 },
  });
  const reads = createMeasureReads(budget, createClientNames(false).of, systemRandom);
  const [slow, other] = [request('192.0.2.1'), request('192.0.2.2')];
  for (let time = 0; time < 1_000; time += 1) reads.measure(other, () => time);
  expect(reads.isSpent(other)).toBe(false);
  const busy = (): void => {
    const until = performance.now() + 3;
    while (performance.now() < until);
  };
  // 900 ms in total, with one read in eight measured. The chance that none of 300 reads is measured is 10 to the power of -17.
  for (let time = 0; time < 300 && !reads.isSpent(slow); time += 1) reads.measure(slow, busy);
  expect([reads.isSpent(slow), reads.isSpent(other)]).toEqual([true, false]);
});
