import { sha256 } from '../../platform/canonical-json.ts';
import { inSnapshot } from '../../platform/database/database.ts';
import { takeSharedQuota } from '../../platform/database/shared-quota.ts';
import type { Market } from '../context.ts';
import { takeNetworkQuota } from '../limits/take-network-quota.ts';
import { addMerchant } from './add-merchant.ts';
import { checkHandle } from './check-handle.ts';
import type { DoorBody } from './door-body.ts';
import { judgeStage } from './stages/judge-stage.ts';
import { closeStage } from './stages/store.ts';
import { nextMerchantId } from './store.ts';

export interface ConfirmCall {
  body: DoorBody<'register', 'confirm'>;
  bearer: string | null;
  clientNetwork: string;
}

/** Makes the merchant real, once, for a caller who shows the key that the stage gave. */
export async function confirmRegistration(market: Market, { body, bearer, clientNetwork }: ConfirmCall) {
  const { config, database, clock, pepper } = market;
  await takeNetworkQuota(market, 'confirm_per_ip_hour', clientNetwork);
  const now = clock.now();
  // Judged first without any lock: a request that is refused anyway makes no other one wait and uses nothing of the shared quota. In one
  // snapshot, or a stage confirmed meanwhile would find its handle taken by itself.
  await inSnapshot(database, async (snapshot) => {
    const stage = await judgeStage(snapshot, 'register', { body, bearer }, { now, pepper, lock: false });
    await checkHandle(snapshot, body.handle ?? stage.handle);
  });
  await takeSharedQuota(market, {
    name: 'registration_per_hour',
    limit: config.limits.registration_per_hour,
    windowSeconds: 3_600,
    clientNetwork,
  });
  const { id, handle } = await database.transaction(async (tx) => {
    const stage = await judgeStage(tx, 'register', { body, bearer }, { now, pepper, lock: true });
    const chosen = body.handle ?? stage.handle;
    await tx.lock('merchants');
    await checkHandle(tx, chosen);
    const merchantId = await nextMerchantId(tx);
    const { model, clientClass } = stage;
    await addMerchant(tx, market, { id: merchantId, handle: chosen, model, clientClass, secrets: stage });
    await closeStage(tx, sha256(body.session), 'confirmed', new Date(now));
    return { id: merchantId, handle: chosen };
  });
  return { status: 'confirmed' as const, merchant_id: Number(id), handle };
}
