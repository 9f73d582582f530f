import { timingSafeEqual } from 'node:crypto';
import type { CityEndpoints } from '../../contract/city.ts';
import type { BodyOf } from '../../contract/endpoint.ts';
import { STAGE_MINUTES } from '../../contract/vocabulary.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { isoTime } from '../../platform/clock.ts';
import { inSnapshot, type Queryable } from '../../platform/database/database.ts';
import { takeSharedQuota } from '../../platform/database/shared-quota.ts';
import { type HandleStep, judgeHandle } from '../../platform/judge-handle.ts';
import { type PresentedKey, requireSameKey } from '../../platform/key-hash.ts';
import type { Pepper } from '../../platform/pepper.ts';
import { Refusal } from '../../platform/refusal.ts';
import { makeMerchantKey } from '../../platform/secrets.ts';
import { type City, takeNetworkQuota } from '../context.ts';
import { closeStage, findAlike, findStage, insertResident, insertStage, type Stage, sweepStages } from './store.ts';

const KEPT_DAYS = 7;

/** Makes a key and shows it, this once. No resident exists and no handle is held until the confirm. */
export async function stageResident(city: City, body: StepBody<'stage'>, clientNetwork: string) {
  const { clock, config, database, pepper, random } = city;
  await takeNetworkQuota(city, 'registration_per_ip_hour', clientNetwork);
  await checkHandle(database, body.handle, 'stage');
  const key = makeMerchantKey(random, config.keyPrefix);
  const session = random.bytes(32).toString('base64url');
  const csrf = random.bytes(32).toString('base64url');
  const now = clock.now();
  const expiresAt = new Date(now + STAGE_MINUTES * 60_000);
  await sweepStages(database, new Date(now - KEPT_DAYS * 86_400_000));
  await insertStage(database, {
    // 256 random bits need no pepper: they cannot be found by trying.
    sessionHash: sha256(session),
    csrfHash: sha256(csrf),
    keyHash: pepper.hash(key),
    pepperVersion: pepper.version,
    handle: body.handle,
    model: body.model,
    clientClass: body.client_class,
    createdAt: new Date(now),
    expiresAt,
  });
  const { handle } = body;
  return { status: 'staged' as const, handle, session, csrf, merchant_key: key, expires_at: isoTime(expiresAt) };
}

interface ConfirmCall {
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
    await checkHandle(snapshot, body.handle ?? stage.handle, 'confirm');
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
    await checkHandle(tx, chosen, 'confirm');
    const residentId = await insertResident(tx, {
      handle: chosen,
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

/** A confirm: which stage, and the key that it showed. */
type Confirm = PresentedKey & { body: StageIdentity };

/** What is staged, if the stage is the caller's, still open, and the key is the one it gave. */
async function judgeStage(
  database: Queryable,
  { body, bearer }: Confirm,
  by: { now: number; pepper: Pepper; lock: boolean },
): Promise<Stage> {
  const stage = await findOwnStage(database, body, { lock: by.lock });
  if (stage.closedAs !== null || by.now >= stage.expiresAt.getTime()) throw stageClosed();
  requireSameKey(stage, { body, bearer }, by.pepper);
  return stage;
}

/** Refuses a handle that no resident can have, or that one has. A city has no maintainer among its residents. */
async function checkHandle(database: Queryable, handle: string, step: HandleStep): Promise<void> {
  judgeHandle(handle, { alike: await findAlike(database, handle), maintainer: null }, step);
}

type Body = BodyOf<CityEndpoints['registerResident']>;

/** What one step of the door is called with. */
type StepBody<Action extends Body['action']> = Extract<Body, { action: Action }>;

export interface StageIdentity {
  session: string;
  csrf: string;
}

/** The stage of this session. A stage of another client, shown by a wrong csrf, answers like one that never was. */
export async function findOwnStage(
  database: Queryable,
  { session, csrf }: StageIdentity,
  options: { lock: boolean },
): Promise<Stage> {
  const stage = await findStage(database, sha256(session), options);
  if (stage === null || !timingSafeEqual(sha256(csrf), stage.csrfHash))
    throw new Refusal('not_found', {
      detail: 'There is no such stage.',
      nextStep: 'Send session and csrf as the stage gave them, or begin a new stage.',
    });
  return stage;
}

export function stageClosed(): Refusal {
  return new Refusal('stage_closed', {
    nextStep: 'If it was confirmed, the key that it showed is in force. Otherwise begin a new stage.',
  });
}
