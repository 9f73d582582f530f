import type { Appeal, RemovalNotice } from '../../contract/appeals.ts';
import type { Endpoints } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { presentAppeal } from '../catalog/present-listing.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { isErased } from '../goods/keeping/erasure-store.ts';
import { answerListing } from '../listings/answer-listing.ts';
import { lockListing } from '../listings/changes/store.ts';
import { mustExist, mustOwn } from '../listings/check-goods.ts';
import { mustStep, nextState } from '../listings/listing-steps.ts';
import {
  type AppealRow,
  findAppeal,
  findAppealInForce,
  insertAppeal,
  markDecided,
  markRestored,
  type NoticeRow,
  readNotices,
} from './store.ts';

/**
 * POST /api/appeal. Each removal can be appealed once; repeating the statement returns the same appeal. The listing's detail shows the
 * statement. The log only records that there is an appeal, because nothing can be removed from the log.
 */
export const appealRemoval: MarketOperation<Endpoints['appealRemoval']> = async (market, call) => {
  const { caller, body } = call;
  return await market.database.transaction(async (tx) => {
    // Lock the listing, so that no decision undoes the removal meanwhile and no second appeal is made.
    const listing = mustOwn(await lockListing(tx, body.listing_id), caller);
    mustStep(listing, 'appeal');
    const existing = await findAppealInForce(tx, listing.id);
    if (existing !== null) {
      if (existing.statement !== body.statement) throw new Refusal('already_appealed');
      return { status: 200, body: { appeal: presentAppealRow(existing) } };
    }
    const appeal = await insertAppeal(tx, listing.id, body.statement, new Date(market.clock.now()));
    await recordEvent(tx, market, {
      kind: 'appeal',
      actor: caller.handle,
      detail: { appeal_id: Number(appeal.id), listing_id: Number(listing.id), merchant_id: Number(caller.id) },
    });
    return { status: 201, body: { appeal: presentAppealRow(appeal) } };
  });
};

type DecideCall = MarketCall<Endpoints['decideAppeal']>;

/** POST /api/mod/appeal. A removal is undone only here, after a public appeal. A repeated decision keeps the first reason. */
export const decideAppeal: MarketOperation<Endpoints['decideAppeal']> = async (market, call) => {
  const appeal = await market.database.transaction((tx) => decideInTransaction(tx, market, call));
  const { body } = await answerListing(market, appeal.listing_id);
  return { status: 200, body: { appeal: presentAppealRow(appeal), ...body } };
};

async function decideInTransaction(tx: Tx, market: Market, { caller, body }: DecideCall): Promise<AppealRow> {
  const { listing_id: listingId } = await mustFind(tx, body.appeal_id);
  const listing = mustExist(await lockListing(tx, listingId));
  // Read again under the lock, because another decision may have been made meanwhile.
  const appeal = await mustFind(tx, body.appeal_id);
  if (appeal.outcome === body.outcome) return appeal;
  if (appeal.outcome !== null) {
    throw new Refusal('appeal_decided', { detail: `This appeal has been decided already: ${appeal.outcome}.` });
  }
  if (body.outcome === 'restored' && (await isErased(tx, listing.id))) {
    throw new Refusal('goods_erased', {
      detail: 'The goods were erased, so the listing stays removed.',
      nextStep: 'Decide on removal_upheld. The merchant may list the goods anew.',
    });
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

function presentAppealRow(row: AppealRow): Appeal {
  const facts = {
    id: Number(row.id),
    statement: row.statement_removed ? '' : row.statement,
    created_ms: row.created_at.getTime(),
    outcome: row.outcome,
    outcome_reason: row.outcome_reason,
    decided_ms: row.decided_at === null ? null : row.decided_at.getTime(),
  };
  return presentAppeal(facts, row.listing_id);
}

/** Maximum number of notices. Older ones appear once listings with newer notices are restored. */
const MAX_NOTICES = 200;

const HOW_TO_APPEAL =
  'Once: POST /api/appeal with listing_id and statement. The statement and what the maintainer decides on it are public.';

/** Returns the merchant's currently removed listings, newest removal first, at most 200. */
export async function readRemovalNotices(queryable: Queryable, merchantId: bigint): Promise<RemovalNotice[]> {
  return (await readNotices(queryable, merchantId, MAX_NOTICES)).map((row) => {
    const appeal = appealOf(row);
    return {
      listing_id: Number(row.listing_id),
      reason_code: row.reason_code,
      reason: row.reason,
      removed_at: isoTime(row.removed_at),
      appeal,
      how_to_appeal: appeal === null ? HOW_TO_APPEAL : null,
    };
  });
}

function appealOf(row: NoticeRow): Appeal | null {
  const { appeal_id: id, statement, created_at: createdAt } = row;
  if (id === null || statement === null || createdAt === null) return null;
  return presentAppealRow({ ...row, id, statement, created_at: createdAt });
}
