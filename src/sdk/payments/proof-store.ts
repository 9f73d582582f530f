import { z } from 'zod';
import { NETWORK_NAMES } from '../../contract/vocabulary.ts';
import type { BuyingClient } from '../client.ts';
import { createMemoryStore, loadSaved } from '../saved.ts';
import { paymentProof } from './payment-proof.ts';

/** Everything needed to resume the same payment after a crash. Contains secrets: the proof until it expires, and the token. */
export const savedPayment = z.object({
  version: z.literal(1),
  purpose: z.enum(['purchase', 'listing_fee']),
  payee: z.templateLiteral(['0x', z.string()]),
  amount_units: z.string().regex(/^\d{1,39}$/),
  network: z.enum(NETWORK_NAMES),
  /** The listing's commitment before signing; null for fees. */
  artifact_commitment: z.string().nullable(),
  proof: paymentProof,
  delivery_token: z.string().nullable(),
  /** Lets the market restore a payment that it has lost. Missing until an answer contains a slip. */
  recovery_slip: z.string().optional(),
});
export type SavedPayment = z.output<typeof savedPayment>;

/**
 * Keeps payments in progress by a key that names the market and the purchase or listing. `save` must be durable when it resolves, because
 * the proof is sent next. Values are plain JSON.
 */
export interface ProofStore {
  save(key: string, payment: SavedPayment): Promise<void>;
  /** Null if nothing was saved. */
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Creates a store that lasts as long as the process. */
export function createMemoryProofStore(): ProofStore {
  return createMemoryStore<SavedPayment>();
}

const memories = new WeakMap<BuyingClient, ProofStore>();

/** Returns the default store: in memory and one per client, so that calling again after an error resumes instead of signing again. */
export function memoryOf(client: BuyingClient): ProofStore {
  const store = memories.get(client) ?? createMemoryProofStore();
  memories.set(client, store);
  return store;
}

export async function loadPayment(store: ProofStore, key: string): Promise<SavedPayment | null> {
  return await loadSaved(store, key, { schema: savedPayment, name: 'payment' });
}
