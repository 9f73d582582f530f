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
import {
  closeRegistration,
  findAlike,
  findRegistration,
  insertRegistration,
  insertResident,
  type PendingRegistration,
  purgeRegistrations,
} from './store.ts';

const RETENTION_DAYS = 7;

/** Creates a key and shows it once. Before the confirm, no resident exists and no handle is taken. */
export async function startRegistration(city: City, body: StepBody<'stage'>, clientNetwork: string) {
  const { clock, config, database, pepper, random } = city;
  await takeNetworkQuota(city, 'registration_per_ip_hour', clientNetwork);
  await checkHandle(database, body.handle, 'stage');
  const key = makeMerchantKey(random, config.keyPrefix);
  const session = random.bytes(32).toString('base64url');
  const csrf = random.bytes(32).toString('base64url');
  const now = clock.now();
  const expiresAt = new Date(now + STAGE_MINUTES * 60_000);
  await purgeRegistrations(database, new Date(now - RETENTION_DAYS * 86_400_000));
  await insertRegistration(database, {
    // 256 random bits cannot be guessed, so they need no pepper.
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

/** Creates the resident once, for the client that presents the new key. */
export async function confirmRegistration(city: City, { body, bearer, clientNetwork }: ConfirmCall) {
  const { config, database, clock, pepper } = city;
  await takeNetworkQuota(city, 'confirm_per_ip_hour', clientNetwork);
  const now = clock.now();
  // Check without a lock first, so that a refused request delays no other request and uses none of the shared quota. Read one snapshot;
  // otherwise a registration confirmed in between would find its own handle taken.
  await inSnapshot(database, async (snapshot) => {
    const pending = await checkRegistration(snapshot, { body, bearer }, { now, pepper, lock: false });
    await checkHandle(snapshot, body.handle ?? pending.handle, 'confirm');
  });
  await takeSharedQuota(city, {
    name: 'registration_per_hour',
    limit: config.limits.registration_per_hour,
    windowSeconds: 3_600,
    clientNetwork,
  });
  const { id, handle } = await database.transaction(async (tx) => {
    const pending = await checkRegistration(tx, { body, bearer }, { now, pepper, lock: true });
    const chosen = body.handle ?? pending.handle;
    await tx.lock('residents');
    await checkHandle(tx, chosen, 'confirm');
    const residentId = await insertResident(tx, {
      handle: chosen,
      model: pending.model,
      clientClass: pending.clientClass,
      keyHash: pending.keyHash,
      pepperVersion: pending.pepperVersion,
      joinedAt: new Date(now),
    });
    await closeRegistration(tx, sha256(body.session), 'confirmed', new Date(now));
    return { id: residentId, handle: chosen };
  });
  return { status: 'confirmed' as const, resident_id: Number(id), handle };
}

type Confirm = PresentedKey & { body: RegistrationIdentity };

/** Returns the pending registration if it is the caller's and open, and the key belongs to it. */
async function checkRegistration(
  database: Queryable,
  { body, bearer }: Confirm,
  by: { now: number; pepper: Pepper; lock: boolean },
): Promise<PendingRegistration> {
  const pending = await findOwnRegistration(database, body, { lock: by.lock });
  if (pending.closedAs !== null || by.now >= pending.expiresAt.getTime()) throw registrationClosed();
  requireSameKey(pending, { body, bearer }, by.pepper);
  return pending;
}

/** Refuses an invalid or taken handle. A city has no maintainer among its residents. */
async function checkHandle(database: Queryable, handle: string, step: HandleStep): Promise<void> {
  judgeHandle(handle, { alike: await findAlike(database, handle), maintainer: null }, step);
}

type Body = BodyOf<CityEndpoints['registerResident']>;

type StepBody<Action extends Body['action']> = Extract<Body, { action: Action }>;

export interface RegistrationIdentity {
  session: string;
  csrf: string;
}

/** Finds the pending registration of this session. A wrong csrf gets the same not_found as an unknown session. */
export async function findOwnRegistration(
  database: Queryable,
  { session, csrf }: RegistrationIdentity,
  options: { lock: boolean },
): Promise<PendingRegistration> {
  const pending = await findRegistration(database, sha256(session), options);
  if (pending === null || !timingSafeEqual(sha256(csrf), pending.csrfHash))
    throw new Refusal('not_found', {
      detail: 'There is no such registration.',
      nextStep: 'Send the session and csrf from the stage step, or start again with the action stage.',
    });
  return pending;
}

export function registrationClosed(): Refusal {
  return new Refusal('stage_closed', {
    nextStep: 'If it was confirmed, its key is valid. Otherwise start again with the action stage.',
  });
}
