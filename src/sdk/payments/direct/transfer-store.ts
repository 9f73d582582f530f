import { z } from 'zod';
import { intentId } from '../../../contract/payments.ts';
import { PAYMENT_PURPOSES } from '../../../contract/vocabulary.ts';
import type { Client } from '../../client.ts';
import { createMemoryStore, loadSaved } from '../../saved.ts';

const hex = z.templateLiteral(['0x', z.string()]);
const units = z.string().regex(/^\d{1,39}$/);

/** Everything needed to resume the same transfer after a crash. Saved before the transfer is sent. */
export const savedTransfer = z.object({
  version: z.literal(1),
  purpose: z.enum(PAYMENT_PURPOSES),
  intent_id: intentId,
  payer: hex,
  payee: hex,
  asset: hex,
  chain_id: z.int(),
  /** Price plus tip. */
  amount_units: units,
  created_at: z.string(),
  expires_at: z.string(),
  challenge: z.string(),
  /** Null after the market refused it. The wallet is then asked for a new one. */
  payer_signature: hex.nullable(),
  /** The listing's commitment before the transfer was sent; null for fees. */
  artifact_commitment: z.string().nullable(),
  /** Null from just before sending until the hash is known. In that time the transfer may exist. */
  tx_hash: hex.nullable(),
  /** True if the market said that this transaction paid for something else, so it isn't this transfer. */
  hash_used_elsewhere: z.boolean(),
  /** Lets the market restore an intent that it has lost. Missing in data of earlier versions. */
  recovery_slip: z.string().optional(),
});
export type SavedTransfer = z.output<typeof savedTransfer>;

/**
 * Keeps transfers. `create` and `save` must be durable when they resolve. Values are plain JSON without secrets. Keep them after delivery,
 * so that a concurrent call for the same purchase doesn't pay again.
 */
export interface TransferStore {
  /** Saves atomically, and only if the key is new: of two concurrent calls, one gets true. A file opened with `wx` is enough. */
  create(key: string, transfer: SavedTransfer): Promise<boolean>;
  save(key: string, transfer: SavedTransfer): Promise<void>;
  /** Null if nothing was saved. */
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Creates a store that lasts as long as the process. Transfers sent before a crash are unknown after it. */
export function createMemoryTransferStore(): TransferStore {
  return createMemoryStore<SavedTransfer>();
}

export interface TransferMemory {
  store: TransferStore;
  /** Intents newly created for this client, for which no earlier payment can exist. */
  opened: Set<string>;
}

const memories = new WeakMap<Client, TransferMemory>();

export function transferMemoryOf(client: Client): TransferMemory {
  const memory = memories.get(client) ?? { store: createMemoryTransferStore(), opened: new Set() };
  memories.set(client, memory);
  return memory;
}

export async function loadTransfer(store: TransferStore, key: string): Promise<SavedTransfer | null> {
  return await loadSaved(store, key, { schema: savedTransfer, name: 'transfer' });
}
