import type { Market } from '../context.ts';
import { takeNetworkQuota } from '../limits/take-network-quota.ts';
import { makeKey } from './make-secrets.ts';
import { mustOwnKey } from './must-own-key.ts';
import { openStage } from './stages/open-stage.ts';

/** Shows the key that a confirm will put in the place of the caller's. */
export async function beginRotation(market: Market, bearer: string | null, clientNetwork: string) {
  const { config, database, random, pepper } = market;
  await takeNetworkQuota(market, 'rotation_starts_per_ip_hour', clientNetwork);
  const { merchantId, handle, keyId } = await mustOwnKey(market, bearer);
  const { key, hashes } = makeKey({ random, pepper, keyPrefix: config.keyPrefix });
  const opened = await openStage(database, market, { kind: 'rotate', ...hashes, merchantId, begunByKey: keyId });
  return { status: 'staged' as const, handle, ...opened, merchant_key: key };
}
