import { describe, expect, it } from 'vitest';
import { clientNetwork, firstAddress, networkLevels } from './client-network.ts';

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

  it('takes the first that is an address', () => {
    expect(firstAddress('unknown', '192.0.2.7')).toBe('192.0.2.7');
    expect(firstAddress('2001:db8::1', '192.0.2.7')).toBe('2001:db8::1');
    expect(firstAddress(undefined, 'x')).toBeUndefined();
  });
});

describe('networkLevels', () => {
  it.each([
    ['192.0.2.7', '192.0.2.0/24', '192.0.0.0/16'],
    ['127.3.4.5', '127.3.4.5', '127.3.4.5'],
    ['::1', '0:0:0:0::/64', '0:0:0:0::/64'],
    ['2001:db8:1:2::9', '2001:db8:1::/48', '2001:db8::/32'],
    ['nothing', 'unknown', 'unknown'],
  ])('puts %s in %s and %s', (address, site, region) => {
    expect(networkLevels(clientNetwork(address))).toEqual({ site, region });
  });
});
