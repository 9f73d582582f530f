import type { Tx } from '../../platform/database/database.ts';
import { supersedeStages } from './stages/store.ts';
import { endPairingCodes, revokeGrants } from './store.ts';

/**
 * Ends all access to a merchant, present or possible, except its key and codes: hosted grants, pairing codes, open stages. Call it in the
 * transaction that replaces the key, under the lock of the identity.
 */
export async function revokeAccess(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await supersedeStages(tx, merchantId, at);
  await endPairingCodes(tx, merchantId, at);
  await revokeGrants(tx, merchantId, at);
}
