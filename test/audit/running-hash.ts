import { createHash } from 'node:crypto';

export const NO_HASH: Buffer = Buffer.alloc(0);

/** Returns SHA-256 of the previous hash, the id as eight bytes, and the event's bytes. */
export function nextHash(previous: Buffer, id: bigint, canonical: Uint8Array): Buffer {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(id);
  return createHash('sha256').update(previous).update(number).update(canonical).digest();
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Returns canonical JSON (RFC 8785). Throws on anything that JSON cannot hold. */
export function canonicalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalOf(member)}`).join(',')}}`;
}
