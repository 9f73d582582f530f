import type { Tx } from '../../platform/database/database.ts';
import { supersedeStages } from './stages/store.ts';
import { endPairingCodes, revokeGrants } from './store.ts';

/**
 * Ends whatever acts for a merchant, or could come to, beside its key and codes: hosted grants, pairing codes, open stages. In the
 * transaction that replaces the key, under the lock of its identity.
 */
export async function revokeAccess(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await supersedeStages(tx, merchantId, at);
  await endPairingCodes(tx, merchantId, at);
  await revokeGrants(tx, merchantId, at);
}
