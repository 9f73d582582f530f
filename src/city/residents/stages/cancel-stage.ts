import { sha256 } from '../../../platform/canonical-json.ts';
import type { City } from '../../context.ts';
import { findOwnStage, type StageIdentity } from './find-own-stage.ts';
import { stageClosed } from './stage-closed.ts';
import { closeStage } from './store.ts';

/** Ends the stage; once more changes nothing. What was confirmed is not undone. */
export async function cancelStage({ database, clock }: Pick<City, 'database' | 'clock'>, identity: StageIdentity) {
  await database.transaction(async (tx) => {
    const stage = await findOwnStage(tx, identity, { lock: true });
    if (stage.closedAs === 'confirmed') throw stageClosed();
    if (stage.closedAs === null) await closeStage(tx, sha256(identity.session), 'canceled', new Date(clock.now()));
  });
  return { status: 'canceled' as const };
}
