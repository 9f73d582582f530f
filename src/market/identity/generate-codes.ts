import { CODES_WAIT_HOURS } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { takeNetworkQuota } from '../limits/take-network-quota.ts';
import { hashesOfCode } from './codes/hashes-of-code.ts';
import { cancelWaitingSets, endSets, findCodeOwner, insertSet } from './codes/store.ts';
import type { DoorBody } from './door-body.ts';
import { makeCodes } from './make-secrets.ts';
import { mustOwnKey } from './must-own-key.ts';
import { findCurrentKey, lockIdentity } from './store.ts';

export interface GenerateCall {
  body: DoorBody<'recovery', 'generate'>;
  bearer: string | null;
  clientNetwork: string;
}

/**
 * Eight new codes, shown this once. With a code in force they replace its set at once. With the key alone they wait, and the old set stays
 * in force meanwhile: with the old codes the owner can undo what a thief of the key alone did.
 */
export async function generateCodes(market: Market, { body, bearer, clientNetwork }: GenerateCall) {
  const { config, database, clock, random, pepper } = market;
  await takeNetworkQuota(market, 'recovery_starts_per_ip_hour', clientNetwork);
  const { merchantId, keyId } = await mustOwnKey(market, bearer);
  const { codes, codeHashes } = makeCodes({ random, pepper, keyPrefix: config.keyPrefix });
  const now = clock.now();
  const at = new Date(now);
  const code = body.recovery_code;
  const validFrom = code === undefined ? new Date(now + CODES_WAIT_HOURS * 3_600_000) : at;
  await database.transaction(async (tx) => {
    await lockIdentity(tx, merchantId);
    // It may have been replaced while this one waited.
    if ((await findCurrentKey(tx, merchantId)) !== keyId) throw new Refusal('key_invalid');
    if (code === undefined) await cancelWaitingSets(tx, merchantId, at);
    else {
      const found = await findCodeOwner(tx, hashesOfCode(pepper, config.keyPrefix, code), at);
      if (found?.merchantId !== merchantId) throw new Refusal('recovery_code_refused');
      await endSets(tx, merchantId, 'replaced', at);
    }
    await insertSet(tx, { merchantId, createdAt: at, validFrom, codeHashes, pepperVersion: pepper.version });
  });
  return {
    status: 'generated' as const,
    recovery_codes: codes,
    valid: code === undefined ? ('later' as const) : ('now' as const),
    valid_from: isoTime(validFrom),
  };
}
