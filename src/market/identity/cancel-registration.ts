import { sha256 } from '../../platform/canonical-json.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { findOwnStage } from './find-own-stage.ts';
import type { RegisterBody } from './register-body.ts';
import { closeStage } from './store.ts';

/** Ends the stage; once more changes nothing. A merchant that exists is not undone. */
export async function cancelRegistration({ database, clock }: Market, body: RegisterBody<'cancel'>) {
  await database.transaction(async (tx) => {
    const stage = await findOwnStage(tx, body, { lock: true });
    if (stage.closedAs === 'confirmed') throw new Refusal('stage_closed');
    if (stage.closedAs === null) await closeStage(tx, sha256(body.session), 'canceled', new Date(clock.now()));
  });
  return { status: 'canceled' as const };
}
