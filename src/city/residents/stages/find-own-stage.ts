import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../../../platform/canonical-json.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Stage } from './stage.ts';
import { findStage } from './store.ts';

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
