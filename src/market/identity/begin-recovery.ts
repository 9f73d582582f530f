import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { takeNetworkQuota } from '../limits/take-network-quota.ts';
import { hashesOfCode } from './codes/hashes-of-code.ts';
import { cancelWaitingSets, findCodeOwner } from './codes/store.ts';
import { makeSecrets } from './make-secrets.ts';
import { openStage } from './stages/open-stage.ts';
import { findHandle, lockIdentity } from './store.ts';

/**
 * For a caller who has one of the codes in force: shows a new key and eight new codes, which a confirm will put in force. Codes that were
 * made with the key alone and still wait end with this: a stolen key must not cut its owner off.
 */
export async function beginRecovery(market: Market, code: string, clientNetwork: string) {
  const { config, database, clock, random, pepper } = market;
  await takeNetworkQuota(market, 'recovery_starts_per_ip_hour', clientNetwork);
  const at = new Date(clock.now());
  const hashes = hashesOfCode(pepper, config.keyPrefix, code);
  const found = await findCodeOwner(database, hashes, at);
  if (found === null) throw new Refusal('recovery_code_refused');
  const { key, codes, hashes: made } = makeSecrets({ random, pepper, keyPrefix: config.keyPrefix });
  return database.transaction(async (tx) => {
    await lockIdentity(tx, found.merchantId);
    const owner = await findCodeOwner(tx, hashes, at);
    if (owner === null) throw new Refusal('recovery_code_refused');
    const { merchantId, setNumber } = owner;
    await cancelWaitingSets(tx, merchantId, at);
    const opened = await openStage(tx, market, { kind: 'recovery', ...made, merchantId, begunBySet: setNumber });
    const handle = await findHandle(tx, merchantId);
    return { status: 'staged' as const, handle, ...opened, merchant_key: key, recovery_codes: codes };
  });
}
