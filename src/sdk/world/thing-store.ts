import { z } from 'zod';

const hex = z.templateLiteral(['0x', z.string()]);

/** Everything that a crashed buyer needs to go on with the same transfer. It is saved before the transfer is sent. */
export const savedThing = z.object({
  version: z.literal(1),
  listing_id: z.int(),
  offer_id: z.int(),
  reservation_id: z.int(),
  payer: hex,
  payee: hex,
  asset: hex,
  chain_id: z.int(),
  amount_units: z.string().regex(/^\d{1,39}$/),
  reserved_at: z.string(),
  reserved_until: z.string(),
  payer_signature: hex,
  /** Null from the moment before the transfer is sent until its hash is known: it may exist. */
  tx_hash: hex.nullable(),
});
export type SavedThing = z.output<typeof savedThing>;

/**
 * Where purchases of things are kept. What `create` and `save` were given must lie there durably when they resolve. Values are plain
 * JSON and no secrets. They stay when all is done: another call for the same thing must not pay for it again.
 */
export interface ThingStore {
  /** Saves only where nothing is, in one step: of two that try at once one gets true. A file opened with `wx` will do. */
  create(key: string, thing: SavedThing): Promise<boolean>;
  save(key: string, thing: SavedThing): Promise<void>;
  /** Null when nothing was saved. */
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Keeps them for as long as the process lives: what was sent before a crash is not known after it. */
export function createMemoryThingStore(): ThingStore {
  const things = new Map<string, SavedThing>();
  return {
    create: async (key, thing) => {
      if (things.has(key)) return false;
      things.set(key, thing);
      return true;
    },
    save: async (key, thing) => {
      things.set(key, thing);
    },
    load: async (key) => things.get(key) ?? null,
    clear: async (key) => {
      things.delete(key);
    },
  };
}

/** What was saved. Something unreadable stops the buyer: sending while an unknown transfer may exist could pay twice. */
export async function loadThing(store: ThingStore, key: string): Promise<SavedThing | null> {
  const found = await store.load(key);
  if (found === null || found === undefined) return null;
  const parsed = savedThing.safeParse(found);
  if (!parsed.success) throw new TypeError('the saved purchase cannot be read; restore it or clear it yourself');
  return parsed.data;
}
