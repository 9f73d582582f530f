import { timingSafeEqual } from 'node:crypto';
import type { BodyOf, Endpoints } from '../../../contract/index.ts';
import { STAGE_MINUTES } from '../../../contract/vocabulary.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { type PresentedKey, requireSameKey } from '../../../platform/key-hash.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Pepper } from '../../context.ts';
import {
  type ChangeKind,
  type ChangeOfKind,
  closePendingChange,
  findPendingChange,
  type IdentityChange,
  insertPendingChange,
  type PendingChange,
  sweepPendingChanges,
} from './store.ts';

const RETENTION_DAYS = 7;

interface OpenedChange {
  session: string;
  csrf: string;
  expires_at: string;
}

/** Stores a change until it is confirmed. A stored change reserves nothing and has no effect yet. */
export async function openPendingChange(
  database: Queryable,
  { clock, random }: Pick<Market, 'clock' | 'random'>,
  change: IdentityChange,
): Promise<OpenedChange> {
  const now = clock.now();
  const expiresAt = new Date(now + STAGE_MINUTES * 60_000);
  const session = random.bytes(32).toString('base64url');
  const csrf = random.bytes(32).toString('base64url');
  await sweepPendingChanges(database, new Date(now - RETENTION_DAYS * 86_400_000));
  // Hash without a pepper, because 256 random bits cannot be guessed.
  const hashes = { sessionHash: sha256(session), csrfHash: sha256(csrf) };
  await insertPendingChange(database, { ...hashes, createdAt: new Date(now), expiresAt, change });
  return { session, csrf, expires_at: isoTime(expiresAt) };
}

export interface PendingChangeSession {
  session: string;
  csrf: string;
}

/** Finds the session's pending change. A wrong csrf or kind gets the same not_found as an unknown session. */
export async function findOwnPendingChange<Kind extends ChangeKind>(
  database: Queryable,
  kind: Kind,
  { session, csrf }: PendingChangeSession,
  options: { lock: boolean },
): Promise<PendingChange<ChangeOfKind<Kind>>> {
  const pending = await findPendingChange(database, sha256(session), options);
  if (pending === null || !timingSafeEqual(sha256(csrf), pending.csrfHash) || !isOfKind(kind, pending))
    throw new Refusal('not_found', {
      detail: 'There is no pending change with this session and csrf.',
      nextStep: 'Send session and csrf as the first step returned them, or begin again.',
    });
  return pending;
}

function isOfKind<Kind extends ChangeKind>(
  kind: Kind,
  pending: PendingChange,
): pending is PendingChange<ChangeOfKind<Kind>> {
  return pending.change.kind === kind;
}

/** A confirm names the pending change and presents its new key. */
type Confirm = PresentedKey & { body: PendingChangeSession };

/** Returns the change. Refuses unless it belongs to the caller, is still open, and the caller presents its new key. */
export async function findConfirmableChange<Kind extends ChangeKind>(
  database: Queryable,
  kind: Kind,
  { body, bearer }: Confirm,
  by: { now: number; pepper: Pepper; lock: boolean },
): Promise<ChangeOfKind<Kind>> {
  const pending = await findOwnPendingChange(database, kind, body, { lock: by.lock });
  if (pending.closedAs !== null || by.now >= pending.expiresAt.getTime()) throw new Refusal('stage_closed');
  requireSameKey(pending.change, { body, bearer }, by.pepper);
  return pending.change;
}

/** Cancels the pending change. Idempotent. A confirmed change cannot be canceled. */
export async function cancelPendingChange(
  { database, clock }: Pick<Market, 'database' | 'clock'>,
  kind: ChangeKind,
  identity: PendingChangeSession,
) {
  await database.transaction(async (tx) => {
    const pending = await findOwnPendingChange(tx, kind, identity, { lock: true });
    if (pending.closedAs === 'confirmed') throw new Refusal('stage_closed');
    if (pending.closedAs === null)
      await closePendingChange(tx, sha256(identity.session), 'canceled', new Date(clock.now()));
  });
  return { status: 'canceled' as const };
}

type IdentityEndpoint = 'register' | 'rotate' | 'recovery';
type Bodies<Name extends IdentityEndpoint> = BodyOf<Endpoints[Name]>;

export type ActionBody<Name extends IdentityEndpoint, Action extends Bodies<Name>['action']> = Extract<
  Bodies<Name>,
  { action: Action }
>;

export interface ActionCall<Name extends IdentityEndpoint, Action extends Bodies<Name>['action']> {
  body: ActionBody<Name, Action>;
  bearer: string | null;
  clientNetwork: string;
}
