import { timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../../../platform/database/database.ts';
import type { Pepper } from '../../../platform/pepper.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { findOwnStage, type StageIdentity } from './find-own-stage.ts';
import type { KeyHash, Stage } from './stage.ts';
import { stageClosed } from './stage-closed.ts';

/** A confirm: which stage, and the key that it showed, from one place or the other. */
export interface Confirm {
  body: StageIdentity & { merchant_key?: string | undefined };
  bearer: string | null;
}

/** What is staged, if the stage is the caller's, still open, and the key is the one it gave. */
export async function judgeStage(
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
