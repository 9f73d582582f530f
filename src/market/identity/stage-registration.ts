import type { Market } from '../context.ts';
import { takeNetworkQuota } from '../limits/take-network-quota.ts';
import { checkHandle } from './check-handle.ts';
import type { DoorBody } from './door-body.ts';
import { makeSecrets } from './make-secrets.ts';
import { openStage } from './stages/open-stage.ts';

/** Makes key and codes and shows them, this once. Nothing exists and no handle is held until the confirm. */
export async function stageRegistration(market: Market, body: DoorBody<'register', 'stage'>, clientNetwork: string) {
  const { config, database, random, pepper } = market;
  await takeNetworkQuota(market, 'registration_per_ip_hour', clientNetwork);
  await checkHandle(database, body.handle, 'Stage again with another handle.');
  const { key, codes, hashes } = makeSecrets({ random, pepper, keyPrefix: config.keyPrefix });
  const { handle, model, client_class: clientClass } = body;
  const opened = await openStage(database, market, { kind: 'register', ...hashes, handle, model, clientClass });
  return { status: 'staged' as const, handle, ...opened, merchant_key: key, recovery_codes: codes };
}
