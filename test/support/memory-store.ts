import type { ObjectStore } from '../../src/platform/object-store.ts';

/** An object store in memory, which can be told to fail. */
export interface MemoryStore extends ObjectStore {
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Makes deletions of names that match fail. Null: none. */
  refuseDeletions(pattern: RegExp | null): void;
}

export function createMemoryStore(): MemoryStore {
  const objects = new Map<string, Buffer>();
  let refused: RegExp | null = null;
  return {
    objects,
    refuseDeletions: (pattern) => {
      refused = pattern;
    },
    put: async (name, bytes) => {
      if (objects.has(name)) throw new Error(`the name ${name} is used again`);
      objects.set(name, Buffer.from(bytes));
    },
    get: async (name, { from, to }) => {
      const bytes = objects.get(name);
      if (bytes === undefined || bytes.length < to) throw new Error(`no such bytes: ${name}`);
      return bytes.subarray(from, to);
    },
    delete: async (name) => {
      if (refused?.test(name)) throw new Error('the store is away');
      objects.delete(name);
    },
  };
}
