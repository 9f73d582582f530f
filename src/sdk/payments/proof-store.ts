import { z } from 'zod';
import { NETWORK_NAMES } from '../../contract/vocabulary.ts';
import type { Client } from '../client.ts';
import { createMemoryStore, loadSaved } from '../saved.ts';
import { paymentProof } from './payment-proof.ts';

/** Everything that a crashed buyer needs to go on with the same payment. It holds secrets: the proof until it lapses, and the token. */
export const savedPayment = z.object({
  version: z.literal(1),
  purpose: z.enum(['purchase', 'listing_fee']),
  payee: z.templateLiteral(['0x', z.string()]),
  amount_units: z.string().regex(/^\d{1,39}$/),
  network: z.enum(NETWORK_NAMES),
  /** Of the listing as it stood before anything was signed; null for fees. */
  artifact_commitment: z.string().nullable(),
  proof: paymentProof,
  delivery_token: z.string().nullable(),
  /** By which the market takes the payment back, should it have lost it. Missing until an answer has brought it. */
  recovery_slip: z.string().optional(),
});
export type SavedPayment = z.output<typeof savedPayment>;

/**
 * Where payments under way are kept, under a key that names market, purpose and payer. `save` must have stored durably when it
 * resolves: the proof is sent only afterwards. Values are plain JSON.
 */
export interface ProofStore {
  save(key: string, payment: SavedPayment): Promise<void>;
  /** Null when nothing was saved. */
  load(key: string): Promise<unknown>;
  clear(key: string): Promise<void>;
}

/** Keeps payments for as long as the process lives. */
export function createMemoryProofStore(): ProofStore {
  return createMemoryStore<SavedPayment>();
}

const memories = new WeakMap<Client, ProofStore>();

/** The default: one store in memory per client, so that calling again after an error goes on instead of signing again. */
export function memoryOf(client: Client): ProofStore {
  const known = memories.get(client) ?? createMemoryProofStore();
  memories.set(client, known);
  return known;
}

/** See `loadSaved`. */
export async function loadPayment(store: ProofStore, key: string): Promise<SavedPayment | null> {
  return await loadSaved(store, key, { schema: savedPayment, name: 'payment' });
}
