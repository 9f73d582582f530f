import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { type Budget, createBudget } from '../budgets/create-budget.ts';
import { systemClock } from '../clock.ts';
import { systemRandom } from '../random.ts';
import { createMeasureReads } from './measure-reads.ts';
import { networkOfRequest, readTrustedProxies } from './network-of-request.ts';

const request = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as never;

test.each([
  [false, '127.0.0.1', '198.51.100.7', '127.0.0.1'],
  [['loopback'], '127.0.0.1', '198.51.100.7', '198.51.100.7'],
  [['loopback'], '127.0.0.1', undefined, '127.0.0.1'],
  [['loopback'], '192.0.2.9', '198.51.100.7', '192.0.2.9'],
  [['loopback'], '127.0.0.1', '203.0.113.1, 198.51.100.7', '198.51.100.7'],
  [['loopback', '198.51.100.0/24'], '127.0.0.1', '203.0.113.1, 198.51.100.7', '203.0.113.1'],
  [['loopback'], '127.0.0.1', 'no address', '127.0.0.1'],
  [['uniquelocal'], '10.1.2.3', '2001:db8:1:2::9', '2001:db8:1:2::/64'],
] as const)('with %j before it %s that names %s is the client %s', (proxies, address, forwarded, network) => {
  const trusted = readTrustedProxies(proxies === false ? false : [...proxies]);
  expect(networkOfRequest(request(address, forwarded), trusted)).toBe(network);
});

test('slow reads are charged to who asked for them, and quick ones to nobody', () => {
  const clock = { ...systemClock, now: () => 0 };
  const budget: Budget = createBudget({
    ...{ clock, random: systemRandom, windowSeconds: 60, networksPerSite: 10 },
    perNetwork: { name: 'read_ms_per_ip_minute', limit: 100 },
  });
  const reads = createMeasureReads(budget, readTrustedProxies(false), systemRandom);
  const [slow, other] = [request('192.0.2.1'), request('192.0.2.2')];
  for (let time = 0; time < 1_000; time += 1) reads.measure(other, () => time);
  expect(reads.isSpent(other)).toBe(false);
  const busy = (): void => {
    const until = performance.now() + 3;
    while (performance.now() < until);
  };
  // 900 ms in all, of which one in eight is looked at: that none of 300 is has a chance of 10 to the power of -17.
  for (let time = 0; time < 300 && !reads.isSpent(slow); time += 1) reads.measure(slow, busy);
  expect([reads.isSpent(slow), reads.isSpent(other)]).toEqual([true, false]);
});
