import type { z } from 'zod';

/** Common part of the stores for payments in progress. */
interface SavedStore<Saved> {
  create(key: string, saved: Saved): Promise<boolean>;
  save(key: string, saved: Saved): Promise<void>;
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Creates a store that lasts as long as the process. */
export function createMemoryStore<Saved>(): SavedStore<Saved> {
  const kept = new Map<string, Saved>();
  return {
    create: async (key, saved) => {
      if (kept.has(key)) return false;
      kept.set(key, saved);
      return true;
    },
    save: async (key, saved) => {
      kept.set(key, saved);
    },
    load: async (key) => kept.get(key) ?? null,
    clear: async (key) => {
      kept.delete(key);
    },
  };
}

/**
 * Loads a saved payment, or null if there is none. Throws if it is unreadable, because a payment may exist and paying could then pay twice.
 */
export async function loadSaved<Schema extends z.ZodType>(
  store: Pick<SavedStore<never>, 'load'>,
  key: string,
  { schema, name }: { schema: Schema; name: string },
): Promise<z.output<Schema> | null> {
  const saved = await store.load(key);
  if (saved === null || saved === undefined) return null;
  const parsed = schema.safeParse(saved);
  if (!parsed.success) throw new TypeError(`the saved ${name} cannot be read; restore it or clear it yourself`);
  return parsed.data;
}
