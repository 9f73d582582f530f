import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { lockListing } from '../listings/changes/store.ts';
import { mustOwn } from '../listings/listing-checks.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { presentAppealRow } from './present-appeals.ts';
import { findAppealInForce, insertAppeal } from './store.ts';

/**
 * POST /api/appeal: once per removal, so the same words again are the same appeal. The statement is public in the listing's detail;
 * the log, from which nothing can ever be taken back, only says that there is one.
 */
export const appealRemoval: MarketOperation<Endpoints['appealRemoval']> = async (market, call) => {
  const { caller, body } = call;
  return await market.database.transaction(async (tx) => {
    // Locked, so that no decision takes back the removal meanwhile, and no second appeal is made.
    const listing = mustOwn(await lockListing(tx, body.listing_id), caller);
    mustStep(listing, 'appeal');
    const standing = await findAppealInForce(tx, listing.id);
    if (standing !== null) {
      if (standing.statement !== body.statement) throw new Refusal('already_appealed');
      return { status: 200, body: { appeal: presentAppealRow(standing) } };
    }
    const made = await insertAppeal(tx, listing.id, body.statement, new Date(market.clock.now()));
    await recordEvent(tx, market, {
      kind: 'appeal',
      actor: caller.handle,
      detail: { appeal_id: Number(made.id), listing_id: Number(listing.id), merchant_id: Number(caller.id) },
    });
    return { status: 201, body: { appeal: presentAppealRow(made) } };
  });
};
