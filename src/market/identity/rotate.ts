import type { Endpoints } from '../../contract/index.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { takeQuota } from '../../platform/database/quota.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { takeNetworkQuota } from '../limits/quotas.ts';
import { mustBeOpen, mustOwnKey } from './authenticate.ts';
import {
  type ActionCall,
  cancelPendingChange,
  findConfirmableChange,
  openPendingChange,
} from './pending-changes/pending-changes.ts';
import { closePendingChange } from './pending-changes/store.ts';
import { makeKey } from './secrets.ts';
import { cancelWaitingSets, findCurrentKey, findHandle, lockIdentity, replaceKey, revokeAccess } from './store.ts';

/** Replaces a key in two steps. The old key stays valid until the new one is confirmed. */
export const rotate: MarketOperation<Endpoints['rotate']> = async (market, { body, bearer, clientNetwork }) => {
  mustBeOpen(market.config, 'rotate');
  switch (body.action) {
    case 'begin':
      return { status: 200, body: await beginRotation(market, bearer, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRotation(market, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelPendingChange(market, 'rotate', body) };
  }
};

/** Shows a new key, which replaces the caller's key on confirm. */
export async function beginRotation(market: Market, bearer: string | null, clientNetwork: string) {
  const { config, database, random, pepper } = market;
  await takeNetworkQuota(market, 'rotation_starts_per_ip_hour', clientNetwork);
  const { merchantId, handle, keyId } = await mustOwnKey(market, bearer);
  const { key, hashes } = makeKey({ random, pepper, keyPrefix: config.keyPrefix });
  const opened = await openPendingChange(database, market, {
    kind: 'rotate',
    ...hashes,
    merchantId,
    begunByKey: keyId,
  });
  return { status: 'staged' as const, handle, ...opened, merchant_key: key };
}

/** Makes the new key valid and ends all access that the old key gave. Takes effect in every process at the commit. */
export async function confirmRotation(market: Market, call: ActionCall<'rotate', 'confirm'>) {
  const { body, clientNetwork } = call;
  const { config, database, clock, pepper } = market;
  await takeNetworkQuota(market, 'confirm_per_ip_hour', clientNetwork);
  const now = clock.now();
  const { merchantId } = await findConfirmableChange(database, 'rotate', call, { now, pepper, lock: false });
  await takeQuota(market, {
    name: 'rotation_per_merchant_day',
    subject: String(merchantId),
    limit: config.limits.rotation_per_merchant_day,
    windowSeconds: 86_400,
  });
  const at = new Date(now);
  const handle = await database.transaction(async (tx) => {
    // Lock the identity first, then the pending change. The holder of the identity lock ends the merchant's other pending changes.
    await lockIdentity(tx, merchantId);
    const change = await findConfirmableChange(tx, 'rotate', call, { now, pepper, lock: true });
    if ((await findCurrentKey(tx, merchantId)) !== change.begunByKey) throw new Refusal('stage_closed');
    await replaceKey(tx, merchantId, change, at);
    await closePendingChange(tx, sha256(body.session), 'confirmed', at);
    await revokeAccess(tx, merchantId, at);
    // Cancel waiting codes, which were made with the key alone. A thief who made them could take the store back in three days.
    await cancelWaitingSets(tx, merchantId, at);
    const name = await findHandle(tx, merchantId);
    await recordEvent(tx, market, { kind: 'rotate', actor: name, detail: { merchant_id: Number(merchantId) } });
    return name;
  });
  return { status: 'confirmed' as const, merchant_id: Number(merchantId), handle };
}
