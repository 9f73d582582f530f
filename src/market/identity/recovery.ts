import type { Endpoints } from '../../contract/index.ts';
import { CODES_WAIT_HOURS } from '../../contract/vocabulary.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { isoTime } from '../../platform/clock.ts';
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
import { hashesOfCode, makeCodes, makeSecrets } from './secrets.ts';
import {
  cancelWaitingSets,
  endSets,
  findCodeOwner,
  findCurrentKey,
  findCurrentSet,
  findHandle,
  insertSet,
  lockIdentity,
  replaceKey,
  revokeAccess,
} from './store.ts';

/** Recovers a store with one of its codes, or makes new codes. */
export const recovery: MarketOperation<Endpoints['recovery']> = async (market, { body, bearer, clientNetwork }) => {
  mustBeOpen(market.config, 'recovery');
  switch (body.action) {
    case 'begin':
      return { status: 200, body: await beginRecovery(market, body.recovery_code, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRecovery(market, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelPendingChange(market, 'recovery', body) };
    case 'generate':
      return { status: 200, body: await generateCodes(market, { body, bearer, clientNetwork }) };
  }
};

/**
 * Returns a new key and eight new codes to a caller with a valid code. They become valid when they are confirmed. Cancels codes that are
 * still waiting, because they were made with the key alone, and a thief of the key must not be able to lock its owner out.
 */
export async function beginRecovery(market: Market, code: string, clientNetwork: string) {
  const { config, database, clock, random, pepper } = market;
  await takeNetworkQuota(market, 'recovery_starts_per_ip_hour', clientNetwork);
  const at = new Date(clock.now());
  const hashes = hashesOfCode(pepper, config.keyPrefix, code);
  const candidate = await findCodeOwner(database, hashes, at);
  if (candidate === null) throw new Refusal('recovery_code_refused');
  const { key, codes, hashes: newHashes } = makeSecrets({ random, pepper, keyPrefix: config.keyPrefix });
  return database.transaction(async (tx) => {
    await lockIdentity(tx, candidate.merchantId);
    const owner = await findCodeOwner(tx, hashes, at);
    if (owner === null) throw new Refusal('recovery_code_refused');
    const { merchantId, setNumber } = owner;
    await cancelWaitingSets(tx, merchantId, at);
    const opened = await openPendingChange(tx, market, {
      kind: 'recovery',
      ...newHashes,
      merchantId,
      begunBySet: setNumber,
    });
    const handle = await findHandle(tx, merchantId);
    return { status: 'staged' as const, handle, ...opened, merchant_key: key, recovery_codes: codes };
  });
}

/** Makes the new key and codes valid, once, for a caller who presents the new key. Revokes the old key and burns all older codes. */
export async function confirmRecovery(market: Market, call: ActionCall<'recovery', 'confirm'>) {
  const { body, clientNetwork } = call;
  const { database, clock, pepper } = market;
  await takeNetworkQuota(market, 'confirm_per_ip_hour', clientNetwork);
  const now = clock.now();
  const { merchantId } = await findConfirmableChange(database, 'recovery', call, { now, pepper, lock: false });
  const at = new Date(now);
  const handle = await database.transaction(async (tx) => {
    await lockIdentity(tx, merchantId);
    const change = await findConfirmableChange(tx, 'recovery', call, { now, pepper, lock: true });
    if ((await findCurrentSet(tx, merchantId, at)) !== change.begunBySet) throw new Refusal('stage_closed');
    await replaceKey(tx, merchantId, change, at);
    await endSets(tx, merchantId, 'burned', at);
    await insertSet(tx, { ...change, createdAt: at, validFrom: at });
    await closePendingChange(tx, sha256(body.session), 'confirmed', at);
    await revokeAccess(tx, merchantId, at);
    const name = await findHandle(tx, merchantId);
    await recordEvent(tx, market, { kind: 'recover', actor: name, detail: { merchant_id: Number(merchantId) } });
    return name;
  });
  return { status: 'confirmed' as const, merchant_id: Number(merchantId), handle };
}

/**
 * Returns eight new codes, once. If the caller sends a valid code, the new codes replace its set at once. With the key alone, the new codes
 * become valid later and the old set stays valid until then, so that the owner can undo what a thief of the key did.
 */
async function generateCodes(market: Market, call: ActionCall<'recovery', 'generate'>) {
  const { body, bearer, clientNetwork } = call;
  const { config, database, clock, random, pepper } = market;
  await takeNetworkQuota(market, 'recovery_starts_per_ip_hour', clientNetwork);
  const { merchantId, keyId } = await mustOwnKey(market, bearer);
  const { codes, codeHashes } = makeCodes({ random, pepper, keyPrefix: config.keyPrefix });
  const now = clock.now();
  const at = new Date(now);
  const code = body.recovery_code;
  const validFrom = code === undefined ? new Date(now + CODES_WAIT_HOURS * 3_600_000) : at;
  const handle = await database.transaction(async (tx) => {
    await lockIdentity(tx, merchantId);
    // The key may have been replaced while this call waited for the lock.
    if ((await findCurrentKey(tx, merchantId)) !== keyId) throw new Refusal('key_invalid');
    if (code === undefined) await cancelWaitingSets(tx, merchantId, at);
    else {
      const owner = await findCodeOwner(tx, hashesOfCode(pepper, config.keyPrefix, code), at);
      if (owner?.merchantId !== merchantId) throw new Refusal('recovery_code_refused');
      await endSets(tx, merchantId, 'replaced', at);
    }
    await insertSet(tx, { merchantId, createdAt: at, validFrom, codeHashes, pepperVersion: pepper.version });
    return findHandle(tx, merchantId);
  });
  return {
    status: 'generated' as const,
    handle,
    recovery_codes: codes,
    valid: code === undefined ? ('later' as const) : ('now' as const),
    valid_from: isoTime(validFrom),
  };
}
