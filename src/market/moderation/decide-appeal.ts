import type { Endpoints } from '../../contract/index.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { answerListing } from '../listings/answer-listing.ts';
import { lockListing } from '../listings/changes/store.ts';
import { mustExist } from '../listings/listing-checks.ts';
import { nextState } from '../listings/listing-steps.ts';
import { presentAppealRow } from './present-appeals.ts';
import { type AppealRow, findAppeal, markDecided, markRestored } from './store.ts';

type DecideCall = MarketCall<Endpoints['decideAppeal']>;

/**
 * POST /api/mod/appeal. There is no other way to take a removal back, so the maintainer restores nothing without a public appeal. The same
 * decision again changes nothing, not even its reason.
 */
export const decideAppeal: MarketOperation<Endpoints['decideAppeal']> = async (market, call) => {
  const appeal = await market.database.transaction((tx) => decide(tx, market, call));
  const { body } = await answerListing(market, appeal.listing_id);
  return { status: 200, body: { appeal: presentAppealRow(appeal), ...body } };
};

async function decide(tx: Tx, market: Market, { caller, body }: DecideCall): Promise<AppealRow> {
  const { listing_id: listingId } = await mustFind(tx, body.appeal_id);
  const listing = mustExist(await lockListing(tx, listingId));
  // Once more, as it stands under the lock: another decision may have been waited for.
  const appeal = await mustFind(tx, body.appeal_id);
  if (appeal.outcome === body.outcome) return appeal;
  if (appeal.outcome !== null) {
    throw new Refusal('appeal_decided', { detail: `This appeal was decided: ${appeal.outcome}.` });
  }
  const now = new Date(market.clock.now());
  markDecided(tx, appeal.id, { outcome: body.outcome, reason: body.reason, now });
  if (body.outcome === 'restored') markRestored(tx, listing.id, nextState(listing, 'restore'), now);
  await recordEvent(tx, market, {
    kind: 'moderation',
    actor: caller.handle,
    detail: {
      action: 'decide_appeal',
      appeal_id: Number(appeal.id),
      listing_id: Number(listing.id),
      merchant_id: Number(listing.merchantId),
      outcome: body.outcome,
    },
  });
  return { ...appeal, outcome: body.outcome, outcome_reason: body.reason, decided_at: now };
}

async function mustFind(tx: Tx, id: bigint): Promise<AppealRow> {
  const appeal = await findAppeal(tx, id);
  if (appeal === null) throw new Refusal('not_found', { detail: 'There is no appeal with that id.' });
  return appeal;
}
