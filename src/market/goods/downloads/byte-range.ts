import type { ByteRange } from '../chunk-store.ts';

const SINGLE = /^bytes[ \t]*=[ \t]*(\d*)[ \t]*-[ \t]*(\d*)[ \t]*$/i;

/**
 * Reads a Range header for bytes of that length (RFC 9110, 14.2). `whole` if there is none, if it is malformed, or if it asks for several
 * ranges; `beyond` if the bytes end before it.
 */
export function readRange(header: string | undefined, length: number): ByteRange | 'whole' | 'beyond' {
  const [, first = '', last = ''] = SINGLE.exec(header ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') return Number(last) === 0 ? 'beyond' : { from: Math.max(0, length - Number(last)), to: length };
  const from = Number(first);
  if (last !== '' && isLess(last, first)) return 'whole';
  if (from >= length) return 'beyond';
  return { from, to: last === '' ? length : Math.min(length, Number(last) + 1) };
}

/** Compares decimal digits, because very long numbers are not exact. */
function isLess(one: string, other: string): boolean {
  return BigInt(one) < BigInt(other);
}

/** Returns whether a range may be sent. If the client has another version, it gets the whole (RFC 9110, 13.1.5). */
export function isRangeOf(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange.trim() === etag;
}
