import { z } from 'zod';
import { intentId } from '../../../contract/payments.ts';
import { PAYMENT_PURPOSES } from '../../../contract/vocabulary.ts';
import type { Client } from '../../client.ts';
import { createMemoryStore, loadSaved } from '../../saved.ts';

const hex = z.templateLiteral(['0x', z.string()]);
const units = z.string().regex(/^\d{1,39}$/);

/** Everything that a crashed payer needs to go on with the same transfer. It is saved before the transfer is sent. */
export const savedTransfer = z.object({
  version: z.literal(1),
  purpose: z.enum(PAYMENT_PURPOSES),
  intent_id: intentId,
  payer: hex,
  payee: hex,
  asset: hex,
  chain_id: z.int(),
  /** What is sent: the price and the tip. */
  amount_units: units,
  created_at: z.string(),
  expires_at: z.string(),
  challenge: z.string(),
  /** Null once the market has called it wrong: then the wallet is asked for a new one. */
  payer_signature: hex.nullable(),
  /** Of the listing as it stood before anything was sent; null for fees. */
  artifact_commitment: z.string().nullable(),
  /** Null from the moment before the transfer is sent until its hash is known: it may exist. */
  tx_hash: hex.nullable(),
  /** The market has said that this transaction paid for something else, so that it is not the one that was sent for this. */
  hash_used_elsewhere: z.boolean(),
  /** By which the market takes the intent back, should it have lost it. Missing in what earlier versions saved. */
  recovery_slip: z.string().optional(),
});
export type SavedTransfer = z.output<typeof savedTransfer>;

/**
 * Where transfers are kept. What `create` and `save` were given must lie there durably when they resolve. Values are plain JSON and no
 * secrets. They stay when all is paid and delivered: another call for the same thing, begun before, must not pay for it again.
 */
export interface TransferStore {
  /** Saves only where nothing is, in one step: of two that try at once one gets true. A file opened with `wx` will do. */
  create(key: string, transfer: SavedTransfer): Promise<boolean>;
  save(key: string, transfer: SavedTransfer): Promise<void>;
  /** Null when nothing was saved. */
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Keeps transfers for as long as the process lives: what was sent before a crash is not known after it. */
export function createMemoryTransferStore(): TransferStore {
  return createMemoryStore<SavedTransfer>();
}

/** What this process knows of the transfers of one client. */
export interface TransferMemory {
  store: TransferStore;
  /** Intents that were made for this client: no earlier payment for them can exist. */
  opened: Set<string>;
}

const memories = new WeakMap<Client, TransferMemory>();

export function transferMemoryOf(client: Client): TransferMemory {
  const known = memories.get(client) ?? { store: createMemoryTransferStore(), opened: new Set() };
  memories.set(client, known);
  return known;
}

/** See `loadSaved`. */
export async function loadTransfer(store: TransferStore, key: string): Promise<SavedTransfer | null> {
  return await loadSaved(store, key, { schema: savedTransfer, name: 'transfer' });
}
