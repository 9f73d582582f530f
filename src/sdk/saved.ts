import type { z } from 'zod';

/** What payers are given to keep what they need after a crash. */
interface Keeping<Saved> {
  create(key: string, saved: Saved): Promise<boolean>;
  save(key: string, saved: Saved): Promise<void>;
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Keeps it for as long as the process lives. */
export function createMemoryStore<Saved>(): Keeping<Saved> {
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

/** What was saved; null: nothing. Something unreadable stops the payer: to go on while an unknown payment may exist could pay twice. */
export async function loadSaved<Schema extends z.ZodType>(
  store: Pick<Keeping<never>, 'load'>,
  key: string,
  { schema, name }: { schema: Schema; name: string },
): Promise<z.output<Schema> | null> {
  const found = await store.load(key);
  if (found === null || found === undefined) return null;
  const parsed = schema.safeParse(found);
  if (!parsed.success) throw new TypeError(`the saved ${name} cannot be read; restore it or clear it yourself`);
  return parsed.data;
}
