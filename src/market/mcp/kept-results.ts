/** Results as they go out, of answers that are asked for again and again. The oldest go first. */
export interface KeptResults {
  get(key: string): Buffer | undefined;
  put(key: string, bytes: Buffer): void;
}

export function createKeptResults(mostBytes: number): KeptResults {
  const kept = new Map<string, Buffer>();
  let held = 0;
  const forget = (key: string, bytes: Buffer): void => {
    if (kept.delete(key)) held -= bytes.byteLength;
  };
  return {
    get: (key) => {
      const bytes = kept.get(key);
      if (bytes === undefined) return undefined;
      // To the young end.
      kept.delete(key);
      kept.set(key, bytes);
      return bytes;
    },
    put: (key, bytes) => {
      if (bytes.byteLength > mostBytes) return;
      const before = kept.get(key);
      if (before !== undefined) forget(key, before);
      kept.set(key, bytes);
      held += bytes.byteLength;
      for (const [oldest, its] of kept) {
        if (held <= mostBytes) return;
        forget(oldest, its);
      }
    },
  };
}
