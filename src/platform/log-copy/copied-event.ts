import { sha256 } from '../canonical-json.ts';

/** One event of a log as the copy holds it. */
export interface CopiedEvent {
  id: bigint;
  /** Over the hash of the event before, the id as 8 bytes (big-endian) and the canonical bytes. */
  hash: Buffer;
  /** One JSON object in one line: of the market the RFC 8785 bytes of {actor, at, detail, kind}. */
  canonical: Buffer;
}

/** The event that the log ends with: enough to tell whether another log holds the same. */
export type LogEnd = Pick<CopiedEvent, 'id' | 'hash'>;

const LINE = /^([1-9]\d{0,18}) ([0-9a-f]{64}) (\{.*\})$/s;

export function lineOf({ id, hash, canonical }: CopiedEvent): string {
  return `${id} ${hash.toString('hex')} ${canonical.toString('utf8')}\n`;
}

/** Null for a line that is torn, or no line of a copy. */
export function readLine(line: string): CopiedEvent | null {
  const [, id, hash, canonical] = LINE.exec(line) ?? [];
  if (id === undefined || hash === undefined || canonical === undefined) return null;
  return { id: BigInt(id), hash: Buffer.from(hash, 'hex'), canonical: Buffer.from(canonical, 'utf8') };
}

/** The running hash of an event that comes right after another one. */
export function hashAfter(before: LogEnd, { id, canonical }: Pick<CopiedEvent, 'id' | 'canonical'>): Buffer {
  const place = Buffer.alloc(8);
  place.writeBigInt64BE(id);
  return sha256(before.hash, place, canonical);
}

/**
 * Whether the second may stand behind the first. After a gap, which a recovery leaves in the ids, only the log itself can tell what the
 * hash was made of.
 */
export function follows(before: LogEnd | null, next: CopiedEvent): boolean {
  if (before === null) return true;
  if (next.id !== before.id + 1n) return next.id > before.id;
  return hashAfter(before, next).equals(next.hash);
}
