import { BlockList } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientNetwork } from '../../platform/http/client-network.ts';
import type { NetworkRule } from '../context.ts';
import { limitFor, NETWORK_LIMITS, type NetworkLimit, readNetwork } from './network-limits.ts';

const limits = Object.fromEntries(NETWORK_LIMITS.map((name) => [name, 1])) as Record<NetworkLimit, number>;

function rule(network: string, own: NetworkRule['limits']): NetworkRule {
  const read = readNetwork(network);
  if (read === null) throw new Error(network);
  return { network: read, limits: own };
}

test.each([
  '0.0.0.0/0',
  '203.0.113.0/24',
  '203.0.113.7/32',
  '::/0',
  '2001:db8::/32',
  '2001:DB8:0:1::/64',
  '2001:db8:0:0::/48',
])('%s is a network', (text) => {
  expect(readNetwork(text)).not.toBeNull();
});

test.each([
  ...[
    '',
    '203.0.113.0',
    '203.0.113.0/',
    '203.0.113.0/33',
    '203.0.113.0/024',
    '203.0.113.1/24',
    '203.0.113/24',
    ' 203.0.113.0/24',
  ],
  ...[
    '2001:db8::/65',
    '2001:db8::1/64',
    '2001:db8:0:1::/48',
    '::ffff:203.0.113.0/120',
    'fe80::%eth0/64',
    'example.org/24',
    '1/8',
  ],
])('“%s” is none', (text) => {
  expect(readNetwork(text)).toBeNull();
});

test('the most specific network that names the limit decides, in whatever order they come', () => {
  const rules = [
    rule('10.0.0.0/8', { confirm_per_ip_hour: 8, recovery_starts_per_ip_hour: 80 }),
    rule('10.1.2.0/24', { confirm_per_ip_hour: 24 }),
    rule('10.1.0.0/16', { registration_per_ip_hour: 16 }),
    rule('0.0.0.0/0', { rotation_starts_per_ip_hour: 0 }),
  ];
  for (const given of [rules, rules.toReversed()]) {
    expect(limitFor(given, 'confirm_per_ip_hour', '10.1.2.3', limits)).toBe(24);
    expect(limitFor(given, 'confirm_per_ip_hour', '10.1.3.3', limits)).toBe(8);
    expect(limitFor(given, 'recovery_starts_per_ip_hour', '10.1.2.3', limits)).toBe(80);
    expect(limitFor(given, 'registration_per_ip_hour', '10.2.0.1', limits)).toBe(1);
    expect(limitFor(given, 'rotation_starts_per_ip_hour', '10.2.0.1', limits)).toBe(0);
    for (const stranger of ['unknown', clientNetwork('2001:db8::1'), '11.0.0.1'])
      expect(limitFor(given, 'confirm_per_ip_hour', stranger, limits)).toBe(1);
  }
});

test('what is in a network agrees with the list of the platform', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6());
  fc.assert(
    fc.property(address, fc.nat(64), address, (named, length, asked) => {
      const [version, width] = named.includes(':') ? ([6, 64] as const) : ([4, 32] as const);
      const counted = clientNetwork(named);
      fc.pre(length <= width && (version === 4) === !counted.includes(':'));
      const list = new BlockList();
      const base = counted.replace('/64', '');
      list.addSubnet(base, length, version === 4 ? 'ipv4' : 'ipv6');
      const client = clientNetwork(asked);
      const inList = list.check(client.replace('/64', ''), client.includes(':') ? 'ipv6' : 'ipv4');
      // Clear host bits of the generated address first.
      const masked = maskOf(base, length, width);
      const [own] = [rule(`${masked}/${length}`, { confirm_per_ip_hour: 7 })];
      const isInRule = own !== undefined && limitFor([own], 'confirm_per_ip_hour', client, limits) === 7;
      expect(isInRule).toBe(inList && client.includes(':') === (version === 6));
    }),
    { numRuns: 500 },
  );
});

function maskOf(base: string, length: number, width: 32 | 64): string {
  const [parts, size] =
    width === 32
      ? [base.split('.').map(Number), 8]
      : [
          base
            .split(':')
            .slice(0, 4)
            .map((group) => Number.parseInt(group || '0', 16)),
          16,
        ];
  const masked = parts.map((part, index) => {
    const kept = Math.min(size, Math.max(0, length - index * size));
    return part & (((1 << kept) - 1) << (size - kept));
  });
  return width === 32 ? masked.join('.') : `${masked.map((part) => part.toString(16)).join(':')}::`;
}
