import { describe, expect, it } from 'vitest';
import { clientNetwork, isPublicAddress, networkLevels } from './client-network.ts';

describe('clientNetwork', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:0207', '192.0.2.7'],
    ['0:0:0:0:0:FFFF:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8::5', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['not an address', 'unknown'],
    ['', 'unknown'],
    [undefined, 'unknown'],
  ])('counts %s as %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  });
});

describe('networkLevels', () => {
  it.each([
    ['192.0.2.7', '192.0.2.0/24', '192.0.0.0/16'],
    ['127.3.4.5', '127.3.4.5', '127.3.4.5'],
    ['::1', '0:0:0:0::/64', '0:0:0:0::/64'],
    ['2001:db8:1:2::9', '2001:db8:1::/48', '2001:db8::/32'],
    ['nothing', 'unknown', 'unknown'],
  ])('puts %s in %s and %s', (address, site, supernet) => {
    expect(networkLevels(clientNetwork(address))).toEqual({ site, supernet });
  });
});

it.each([
  ...[
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
  ],
  ...[
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
  ],
  ...['203.0.112.255', '223.255.255.255', '2606:4700::1111', '2a00:1450:4001::1', '2000::1', '3ffe::1', '2001:200::1'],
])('%s is the public’s', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

it.each([
  // This machine and its neighbours, which must not be reached.
  ...['0.0.0.0', '0.1.2.3', '127.0.0.1', '127.255.255.255', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...['169.254.169.254', '100.64.0.1', '100.127.255.255', '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12::1'],
  // Documentation, benchmarks, multicast, reserved and broadcast.
  ...[
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
  ],
  ...['255.255.255.255', '192.88.99.1', '2001:db8::1', '2001::1', '3fff::1', 'ff02::1', '100::1', '5f00::1', '4000::1'],
  // Embedded IPv4.
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::a00:1'],
  ...['2002:7f00:1::', '2002:a00:1::1', '2001:0:7f00:1::'],
  // Not addresses.
  ...['', 'localhost', 'example.org', '127.1', '0x7f.0.0.1', '2130706433', '1.2.3.4.5', 'gggg::1'],
])('“%s” is not', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});
