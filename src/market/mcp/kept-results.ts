import { type PackedPart, packPart } from '../../platform/gzip/pack-part.ts';

/** A result as it goes out, and the same for who takes gzip. */
export interface KeptResult {
  plain: Buffer;
  /** Not before somebody asks for it again: it takes longer than sending it once. */
  packed: PackedPart | null;
}

/** Results of answers that are asked for again and again. The oldest go first. */
export interface KeptResults {
  get(key: string, withPacked: boolean): KeptResult | undefined;
  put(key: string, plain: Buffer): void;
}

export function createKeptResults(mostBytes: number): KeptResults {
  const kept = new Map<string, KeptResult>();
  let held = 0;
  const forget = (key: string): void => {
    const before = kept.get(key);
    if (before !== undefined && kept.delete(key)) held -= sizeOf(before);
  };
  const hold = (key: string, result: KeptResult): void => {
    forget(key);
    if (sizeOf(result) > mostBytes) return;
    kept.set(key, result);
    held += sizeOf(result);
    for (const oldest of kept.keys()) {
      if (held <= mostBytes) return;
      forget(oldest);
    }
  };
  return {
    get: (key, withPacked) => {
      const known = kept.get(key);
      if (known === undefined) return undefined;
      const result = withPacked && known.packed === null ? { ...known, packed: packPart(known.plain) } : known;
      // To the young end.
      hold(key, result);
      return result;
    },
    put: (key, plain) => hold(key, { plain, packed: null }),
  };
}

function sizeOf({ plain, packed }: KeptResult): number {
  return plain.byteLength + (packed?.bytes.byteLength ?? 0);
}
