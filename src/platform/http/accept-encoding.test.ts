import { describe, expect, it } from 'vitest';
import { acceptsGzip, preferredCompression } from './accept-encoding.ts';

describe('what a client can unpack', () => {
  it.each([
    [undefined, null, false],
    ['', null, false],
    ['gzip', 'gzip', true],
    ['x-gzip', 'gzip', true],
    ['gzip, deflate, br, zstd', 'br', true],
    ['GZIP;Q=0.5', 'gzip', true],
    ['br;q=0, gzip', 'gzip', true],
    ['gzip;q=0', null, false],
    ['gzip ; q=0.000', null, false],
    ['br;q=0.5, gzip;q=0.8', 'gzip', true],
    ['*', 'br', true],
    ['*;q=0', null, false],
    ['gzip;q=0, *', 'br', false],
    ['identity, *;q=0', null, false],
    ['identity;q=1, gzip;q=0.5', null, false],
    ['identity;q=0.5, gzip;q=1', 'gzip', true],
    ['identity;q=0', null, false],
    ['gzip;q=nonsense', null, false],
    ['gzip;q=2', null, false],
    ['xgzip, abr', null, false],
  ] as const)('%s', (header, compression, gzip) => {
    for (const _ of ['read', 'remembered']) {
      expect(preferredCompression(header)).toBe(compression);
      expect(acceptsGzip(header)).toBe(gzip);
    }
  });

  it('is read right also when thousands of clients ask in ways of their own', () => {
    for (let way = 0; way < 2_000; way += 1) expect(acceptsGzip(`x${way}, gzip;q=${way % 2}`)).toBe(way % 2 === 1);
  });
});
