import { type FileHandle, open, unlink } from 'node:fs/promises';
import { HANDLE_PATTERN } from '../../contract/identity.ts';
import type { Endpoints } from '../../contract/index.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { inSnapshot, type Queryable, type Tx } from '../../platform/database/database.ts';
import { isOutcomeUnknown } from '../../platform/database/database-error.ts';
import { takeSharedQuota } from '../../platform/database/shared-quota.ts';
import { type HandleStep, judgeHandle } from '../../platform/judge-handle.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { takeNetworkQuota } from '../limits/quotas.ts';
import { mustBeOpen } from './authenticate.ts';
import {
  type ActionBody,
  type ActionCall,
  cancelPendingChange,
  findConfirmableChange,
  openPendingChange,
} from './pending-changes/pending-changes.ts';
import { type ClientClass, closePendingChange, type SecretHashes } from './pending-changes/store.ts';
import { type MadeSecrets, makeSecrets } from './secrets.ts';
import { findHandleConflicts, findHandleOrNull, insertMerchant, nextMerchantId } from './store.ts';

/** Opens a store in two steps. */
export const register: MarketOperation<Endpoints['register']> = async (market, { body, bearer, clientNetwork }) => {
  mustBeOpen(market.config, 'register');
  switch (body.action) {
    case 'stage':
      return { status: 200, body: await beginRegistration(market, body, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRegistration(market, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelPendingChange(market, 'register', body) };
  }
};

/** Makes a key and codes and shows them once. No merchant exists and no handle is reserved before the confirm. */
export async function beginRegistration(market: Market, body: ActionBody<'register', 'stage'>, clientNetwork: string) {
  const { config, database, random, pepper } = market;
  await takeNetworkQuota(market, 'registration_per_ip_hour', clientNetwork);
  await checkHandle(database, body.handle, 'stage');
  const { key, codes, hashes } = makeSecrets({ random, pepper, keyPrefix: config.keyPrefix });
  const { handle, model, client_class: clientClass } = body;
  const opened = await openPendingChange(database, market, { kind: 'register', ...hashes, handle, model, clientClass });
  return { status: 'staged' as const, handle, ...opened, merchant_key: key, recovery_codes: codes };
}

/** Creates the merchant, once, for a caller who presents the new key. */
export async function confirmRegistration(market: Market, call: ActionCall<'register', 'confirm'>) {
  const { body, clientNetwork } = call;
  const { config, database, clock, pepper } = market;
  await takeNetworkQuota(market, 'confirm_per_ip_hour', clientNetwork);
  const now = clock.now();
  // Check without locks first, because a request that will be refused must not make others wait or use up the shared quota. Use one
  // snapshot. Otherwise a change confirmed meanwhile would find its handle taken by its own merchant.
  await inSnapshot(database, async (snapshot) => {
    const change = await findConfirmableChange(snapshot, 'register', call, { now, pepper, lock: false });
    await checkHandle(snapshot, body.handle ?? change.handle, 'confirm');
  });
  await takeSharedQuota(market, {
    name: 'registration_per_hour',
    limit: config.limits.registration_per_hour,
    windowSeconds: 3_600,
    clientNetwork,
  });
  const { id, handle } = await database.transaction(async (tx) => {
    const change = await findConfirmableChange(tx, 'register', call, { now, pepper, lock: true });
    const chosen = body.handle ?? change.handle;
    await tx.lock('merchants');
    await checkHandle(tx, chosen, 'confirm');
    const merchantId = await nextMerchantId(tx);
    const { model, clientClass } = change;
    await addMerchant(tx, market, { id: merchantId, handle: chosen, model, clientClass, secrets: change });
    await closePendingChange(tx, sha256(body.session), 'confirmed', new Date(now));
    return { id: merchantId, handle: chosen };
  });
  return { status: 'confirmed' as const, merchant_id: Number(id), handle };
}

/** Refuses a handle that public registration does not allow. */
async function checkHandle(database: Queryable, handle: string, step: HandleStep): Promise<void> {
  judgeHandle(handle, await findHandleConflicts(database, handle), step);
}

interface MerchantToAdd {
  id: bigint;
  handle: string;
  model: string;
  clientClass: ClientClass;
  secrets: SecretHashes;
}

/** Inserts the merchant, its key, its codes and the event. The caller holds the lock 'merchants'. */
export async function addMerchant(
  tx: Tx,
  market: Pick<Market, 'clock' | 'wakeEvents'>,
  { id, handle, model, clientClass, secrets }: MerchantToAdd,
): Promise<void> {
  const joinedAt = new Date(market.clock.now());
  await insertMerchant(tx, { ...secrets, id, handle, model, clientClass, joinedAt });
  await recordEvent(tx, market, { kind: 'register', actor: handle, detail: { merchant_id: Number(id) } });
}

/** Refuses the former one-call flow (a JSON object without `action`), which returned a key without making sure that it was saved. */
export function retiredFlow(raw: unknown): Refusal | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || Object.hasOwn(raw, 'action')) return null;
  return new Refusal('retired_flow', {
    detail: 'Getting a key takes two steps now: the first shows it once, and a confirm with it puts it in force.',
    nextStep: 'Send action stage to /api/register, or action begin to /api/rotate. Then confirm with the new key.',
  });
}

export type MaintainerMarket = Pick<Market, 'database' | 'clock' | 'random' | 'pepper' | 'wakeEvents'> & {
  keyPrefix: string;
};

/** Creates merchant 1. Writes its key and codes to a new file that only the file's owner can read; they are shown nowhere else. */
export async function createMaintainer(
  market: MaintainerMarket,
  { handle, out }: { handle: string; out: string },
): Promise<{ merchantId: number; handle: string }> {
  if (!new RegExp(HANDLE_PATTERN).test(handle)) throw new Error(`the handle must match ${HANDLE_PATTERN}`);
  const secrets = makeSecrets(market);
  const file = await open(out, 'wx', 0o600).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new Error(`${out} exists already: name a new file`);
    throw error;
  });
  try {
    // Write to disk before the commit, because the maintainer could not be created again if the key were lost.
    await writeSecrets(file, handle, secrets);
    await insertMaintainer(market, handle, secrets);
  } catch (error) {
    if (isOutcomeUnknown(error))
      throw new Error(`the database did not confirm the commit: try the key in ${out} before you delete it`, {
        cause: error,
      });
    await unlink(out);
    throw error;
  } finally {
    await file.close();
  }
  return { merchantId: MAINTAINER_MERCHANT_ID, handle };
}

/** Skips the check for reserved words, because they are reserved for this merchant. */
async function insertMaintainer(market: MaintainerMarket, handle: string, secrets: MadeSecrets): Promise<void> {
  const id = BigInt(MAINTAINER_MERCHANT_ID);
  await market.database.transaction(async (tx) => {
    await tx.lock('merchants');
    const existing = await findHandleOrNull(tx, id);
    if (existing !== null) throw new Error(`merchant 1 exists already, with the handle ${existing}`);
    const { alike } = await findHandleConflicts(tx, handle);
    if (alike !== null) throw new Error(`the handle ${handle} is too like ${alike}, which belongs to another merchant`);
    await addMerchant(tx, market, {
      id,
      handle,
      model: 'maintainer',
      clientClass: 'coding_persistent',
      secrets: secrets.hashes,
    });
  });
}

async function writeSecrets(file: FileHandle, handle: string, { key, codes }: MadeSecrets): Promise<void> {
  const content = { merchant_id: MAINTAINER_MERCHANT_ID, handle, merchant_key: key, recovery_codes: codes };
  await file.writeFile(`${JSON.stringify(content, null, 2)}\n`);
  await file.sync();
}
