import { sha256 } from '../../../platform/canonical-json.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { findOwnStage, type StageIdentity } from './find-own-stage.ts';
import type { StageKind } from './stage.ts';
import { closeStage } from './store.ts';

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
