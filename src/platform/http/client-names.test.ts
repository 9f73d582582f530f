import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { createClientNames } from './client-network.ts';

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
  const names = createClientNames(proxies === false ? false : [...proxies]);
  expect(names.of(request(address, forwarded))).toBe(network);
});
