import { describe, expect, it } from 'vitest';
import { acceptQuality, preferredType, wantsBytes } from './accept.ts';

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
