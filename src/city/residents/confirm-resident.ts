import { timingSafeEqual } from 'node:crypto';
import { handleSkeleton } from '../../contract/handle-skeleton.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { inSnapshot } from '../../platform/database/in-snapshot.ts';
import { takeSharedQuota } from '../../platform/database/quotas/take-shared-quota.ts';
import type { Pepper } from '../../platform/pepper.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City } from '../context.ts';
import { checkHandle } from './check-handle.ts';
import { findOwnStage, type StageIdentity } from './stages/find-own-stage.ts';
import type { KeyHash, Stage } from './stages/stage.ts';
import { stageClosed } from './stages/stage-closed.ts';
import { closeStage } from './stages/store.ts';
import type { StepBody } from './step-body.ts';
import { insertResident } from './store.ts';
import { takeNetworkQuota } from './take-network-quota.ts';

export interface ConfirmCall {
  body: StepBody<'confirm'>;
  bearer: string | null;
  clientNetwork: string;
}

/** Makes the resident real, once, for the client that shows the key that the stage gave. */
export async function confirmResident(city: City, { body, bearer, clientNetwork }: ConfirmCall) {
  const { config, database, clock, pepper } = city;
  await takeNetworkQuota(city, 'confirm_per_ip_hour', clientNetwork);
  const now = clock.now();
  // Judged first without any lock: a request that is refused anyway delays no other and uses nothing of the quota of all. In
  // one snapshot, or a stage confirmed meanwhile would find its handle taken by itself.
  await inSnapshot(database, async (snapshot) => {
    const stage = await judgeStage(snapshot, { body, bearer }, { now, pepper, lock: false });
    await checkHandle(snapshot, body.handle ?? stage.handle);
  });
  await takeSharedQuota(city, {
    name: 'registration_per_hour',
    limit: config.limits.registration_per_hour,
    windowSeconds: 3_600,
    clientNetwork,
  });
  const { id, handle } = await database.transaction(async (tx) => {
    const stage = await judgeStage(tx, { body, bearer }, { now, pepper, lock: true });
    const chosen = body.handle ?? stage.handle;
    await tx.lock('residents');
    await checkHandle(tx, chosen);
    const residentId = await insertResident(tx, {
      handle: chosen,
      skeleton: handleSkeleton(chosen),
      model: stage.model,
      clientClass: stage.clientClass,
      keyHash: stage.keyHash,
      pepperVersion: stage.pepperVersion,
      joinedAt: new Date(now),
    });
    await closeStage(tx, sha256(body.session), 'confirmed', new Date(now));
    return { id: residentId, handle: chosen };
  });
  return { status: 'confirmed' as const, resident_id: Number(id), handle };
}

/** A confirm: which stage, and the key that it showed, from one place or the other. */
interface Confirm {
  body: StageIdentity & { merchant_key?: string | undefined };
  bearer: string | null;
}

/** What is staged, if the stage is the caller's, still open, and the key is the one it gave. */
async function judgeStage(
  database: Queryable,
  { body, bearer }: Confirm,
  by: { now: number; pepper: Pepper; lock: boolean },
): Promise<Stage> {
  const stage = await findOwnStage(database, body, { lock: by.lock });
  if (stage.closedAs !== null || by.now >= stage.expiresAt.getTime()) throw stageClosed();
  if (!isKeyOf(stage, presentedKey(bearer, body.merchant_key ?? null), by.pepper))
    throw new Refusal('key_invalid', {
      detail: 'This is not the key that the stage showed.',
      nextStep: 'Send the key that this stage showed, in Authorization.',
    });
  return stage;
}

function isKeyOf(staged: KeyHash, key: string, pepper: Pepper): boolean {
  const presented = pepper.hashes(key).find(({ version }) => version === staged.pepperVersion);
  return presented !== undefined && timingSafeEqual(presented.hash, staged.keyHash);
}

function presentedKey(bearer: string | null, inBody: string | null): string {
  const nextStep = 'Send the key that this stage showed, in Authorization and nowhere else.';
  if (bearer !== null && inBody !== null && bearer !== inBody)
    throw new Refusal('key_invalid', { detail: 'Authorization and merchant_key carry different keys.', nextStep });
  const key = bearer ?? inBody;
  if (key === null) throw new Refusal('key_required', { nextStep });
  return key;
}
