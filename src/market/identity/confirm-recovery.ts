import { sha256 } from '../../platform/canonical-json.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { takeNetworkQuota } from '../limits/take-network-quota.ts';
import { endSets, findCurrentSet, insertSet } from './codes/store.ts';
import type { DoorBody } from './door-body.ts';
import { revokeAccess } from './revoke-access.ts';
import { judgeStage } from './stages/judge-stage.ts';
import { closeStage } from './stages/store.ts';
import { findHandle, lockIdentity, replaceKey } from './store.ts';

export interface ConfirmRecoveryCall {
  body: DoorBody<'recovery', 'confirm'>;
  bearer: string | null;
  clientNetwork: string;
}

/** Puts new key and codes in force and burns all older ones, once, for a caller who shows the key that the stage gave. */
export async function confirmRecovery(market: Market, { body, bearer, clientNetwork }: ConfirmRecoveryCall) {
  const { database, clock, pepper } = market;
  await takeNetworkQuota(market, 'confirm_per_ip_hour', clientNetwork);
  const now = clock.now();
  const { merchantId } = await judgeStage(database, 'recovery', { body, bearer }, { now, pepper, lock: false });
  const at = new Date(now);
  const handle = await database.transaction(async (tx) => {
    await lockIdentity(tx, merchantId);
    const stage = await judgeStage(tx, 'recovery', { body, bearer }, { now, pepper, lock: true });
    if ((await findCurrentSet(tx, merchantId, at)) !== stage.begunBySet) throw new Refusal('stage_closed');
    await replaceKey(tx, merchantId, stage, at);
    await endSets(tx, merchantId, 'burned', at);
    await insertSet(tx, { ...stage, createdAt: at, validFrom: at });
    await closeStage(tx, sha256(body.session), 'confirmed', at);
    await revokeAccess(tx, merchantId, at);
    const own = await findHandle(tx, merchantId);
    await recordEvent(tx, market, { kind: 'recover', actor: own, detail: { merchant_id: Number(merchantId) } });
    return own;
  });
  return { status: 'confirmed' as const, merchant_id: Number(merchantId), handle };
}
