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
  closeStage,
  findStage,
  insertStage,
  type Stage,
  type StageKind,
  type StageOf,
  type StageOfKind,
  sweepStages,
} from './store.ts';

const KEPT_DAYS = 7;

interface OpenedStage {
  session: string;
  csrf: string;
  expires_at: string;
}

/** Keeps what was made until it is confirmed. It reserves nothing and puts nothing in force. */
export async function openStage(
  database: Queryable,
  { clock, random }: Pick<Market, 'clock' | 'random'>,
  of: StageOf,
): Promise<OpenedStage> {
  const now = clock.now();
  const expiresAt = new Date(now + STAGE_MINUTES * 60_000);
  const session = random.bytes(32).toString('base64url');
  const csrf = random.bytes(32).toString('base64url');
  await sweepStages(database, new Date(now - KEPT_DAYS * 86_400_000));
  // 256 random bits need no pepper: no attacker finds them by trying.
  const hashes = { sessionHash: sha256(session), csrfHash: sha256(csrf) };
  await insertStage(database, { ...hashes, createdAt: new Date(now), expiresAt, of });
  return { session, csrf, expires_at: isoTime(expiresAt) };
}

export interface StageIdentity {
  session: string;
  csrf: string;
}

/** The stage of this session. A stage with a wrong csrf (another caller's) or of another kind is answered like one that never was. */
export async function findOwnStage<Kind extends StageKind>(
  database: Queryable,
  kind: Kind,
  { session, csrf }: StageIdentity,
  options: { lock: boolean },
): Promise<Stage<StageOfKind<Kind>>> {
  const stage = await findStage(database, sha256(session), options);
  if (stage === null || !timingSafeEqual(sha256(csrf), stage.csrfHash) || !isOf(kind, stage))
    throw new Refusal('not_found', {
      detail: 'There is no such stage.',
      nextStep: 'Send session and csrf as the stage gave them, or begin a new stage.',
    });
  return stage;
}

function isOf<Kind extends StageKind>(kind: Kind, stage: Stage): stage is Stage<StageOfKind<Kind>> {
  return stage.of.kind === kind;
}

/** A confirm: which stage, and the key that it showed. */
type Confirm = PresentedKey & { body: StageIdentity };

/** What is staged, if the stage is the caller's, still open, and the key is the one it gave. */
export async function judgeStage<Kind extends StageKind>(
  database: Queryable,
  kind: Kind,
  { body, bearer }: Confirm,
  by: { now: number; pepper: Pepper; lock: boolean },
): Promise<StageOfKind<Kind>> {
  const stage = await findOwnStage(database, kind, body, { lock: by.lock });
  if (stage.closedAs !== null || by.now >= stage.expiresAt.getTime()) throw new Refusal('stage_closed');
  requireSameKey(stage.of, { body, bearer }, by.pepper);
  return stage.of;
}

/** Ends the stage; once more changes nothing. What was confirmed is not undone. */
export async function cancelStage(
  { database, clock }: Pick<Market, 'database' | 'clock'>,
  kind: StageKind,
  identity: StageIdentity,
) {
  await database.transaction(async (tx) => {
    const stage = await findOwnStage(tx, kind, identity, { lock: true });
    if (stage.closedAs === 'confirmed') throw new Refusal('stage_closed');
    if (stage.closedAs === null) await closeStage(tx, sha256(identity.session), 'canceled', new Date(clock.now()));
  });
  return { status: 'canceled' as const };
}

type Doors = 'register' | 'rotate' | 'recovery';
type Bodies<Door extends Doors> = BodyOf<Endpoints[Door]>;

/** What one step of a door is called with. */
export type DoorBody<Door extends Doors, Action extends Bodies<Door>['action']> = Extract<
  Bodies<Door>,
  { action: Action }
>;
