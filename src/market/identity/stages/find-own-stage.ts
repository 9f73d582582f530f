import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../../../platform/canonical-json.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Stage, StageKind, StageOfKind } from './stage.ts';
import { findStage } from './store.ts';

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
