import { describe, expect, it } from 'vitest';
import { acceptQuality, acceptsGzip, preferredType, wantsBytes } from './caller-headers.ts';

const FORMS = ['text/plain', 'text/html', 'application/json'] as const;

describe('what a client prefers', () => {
  it.each([
    [undefined, 'text/plain'],
    ['', 'text/plain'],
    ['*/*', 'text/plain'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
    ['application/json', 'application/json'],
    ['application/json, */*;q=0.5', 'application/json'],
    ['text/*;q=0.5, application/json;q=0.4', 'text/plain'],
    ['TEXT/HTML ; Q=1', 'text/html'],
    ['image/png', null],
    ['*/*, text/plain;q=0, text/html;q=0', 'application/json'],
    ['text/html;q=nonsense', null],
  ])('of %j is %s', (accept, type) => {
    expect(preferredType(accept, FORMS)).toBe(type);
  });

  it('is decided by the most exact range, in whatever order', () => {
    expect(acceptQuality('*/*;q=0.1, text/*;q=0.2, text/html;q=0.3', 'text/html')).toBe(0.3);
    expect(acceptQuality('text/html;q=0.3, text/*;q=0.2, */*;q=0.1', 'text/plain')).toBe(0.2);
    expect(acceptQuality('text/html;q=0.3, */*;q=0.1', 'application/json')).toBe(0.1);
  });

  it('is bytes only where they are named', () => {
    expect(wantsBytes('application/octet-stream')).toBe(true);
    expect(wantsBytes('application/octet-stream, application/json;q=0.9')).toBe(true);
    expect(wantsBytes('*/*')).toBe(false);
    expect(wantsBytes(undefined)).toBe(false);
    expect(wantsBytes('application/octet-stream;q=0')).toBe(false);
    expect(wantsBytes('application/octet-stream;q=0.1, application/json')).toBe(false);
  });
});

describe('whether a client can unpack gzip', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['gzip, deflate, br, zstd', true],
    ['x-gzip', true],
    ['GZIP;Q=0.5', true],
    ['gzip ; q=0.000', false],
    ['*', true],
    ['gzip;q=0, *', false],
    ['identity, *;q=0', false],
    ['identity;q=1, gzip;q=0.5', false],
    ['identity;q=0.5, gzip;q=1', true],
    ['gzip;q=nonsense', false],
    ['gzip;q=2', false],
    ['xgzip, abr', false],
  ])('%s', (header, welcome) => {
    for (const _ of ['read', 'remembered']) expect(acceptsGzip(header)).toBe(welcome);
  });

  it('is read right also when thousands of clients ask in ways of their own', () => {
    for (let way = 0; way < 2_000; way += 1) expect(acceptsGzip(`x${way}, gzip;q=${way % 2}`)).toBe(way % 2 === 1);
  });
});
