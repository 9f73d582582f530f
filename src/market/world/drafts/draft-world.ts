import type { Endpoints } from '../../../contract/index.ts';
import { DRAFT_MINUTES } from '../../../contract/vocabulary.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { MarketOperation, Merchant } from '../../context.ts';
import { checkWallet } from '../../listings/check-goods.ts';
import { cityOrigin } from '../city.ts';
import { mustBeLinked } from '../link-city.ts';
import { draftStateAt, presentDraft } from './get-world-draft.ts';
import {
  type Draft,
  type DraftTerms,
  endDraft,
  findDraft,
  insertDraft,
  lockDraft,
  lockOpenDraftOf,
  nextDraftState,
} from './store.ts';

/** POST /api/world/draft. Free of charge, public, one at a time per merchant. Reserves neither the thing nor the wallet. */
export const draftWorld: MarketOperation<Endpoints['draftWorld']> = async (market, { body, caller }) => {
  const { clock, database } = market;
  cityOrigin(market);
  await mustBeLinked(market, caller);
  await checkWallet(market, body.seller_wallet, 'world');
  const terms: DraftTerms = {
    merchantId: caller.id,
    title: body.title,
    description: body.description,
    preview: body.preview,
    priceUnits: body.price_usdc,
    sellerWallet: body.seller_wallet,
    tags: body.tags,
    keywords: body.keywords,
    thingId: body.thing_id,
  };
  const nowMs = clock.now();
  const draft = await database.transaction(async (tx) => {
    // Lock before the check, so that the second of two concurrent requests sees the first.
    await tx.lock('world_drafts');
    await mustHaveNoOpenDraft(tx, caller.id, nowMs);
    const time = { createdAt: new Date(nowMs), expiresAt: new Date(nowMs + DRAFT_MINUTES * 60_000) };
    return await findDraft(tx, await insertDraft(tx, terms, time));
  });
  if (draft === null) throw new TypeError('a draft that was just made is gone');
  return { status: 201, body: { draft: presentDraft(draft, nowMs) } };
};

async function mustHaveNoOpenDraft(tx: Tx, merchantId: bigint, nowMs: number): Promise<void> {
  const open = await lockOpenDraftOf(tx, merchantId);
  if (open === null) return;
  if (draftStateAt(open, nowMs) === 'expired') return await endDraft(tx, open.id, 'expired', new Date(nowMs));
  throw new Refusal('draft_pending', {
    detail: `Draft ${open.id} is ${open.state}.`,
    fields: { draft_id: Number(open.id) },
  });
}

/** POST /api/world/draft/:id/cancel. Repeating it changes nothing. Another merchant's draft gets the same answer as a missing one. */
export const cancelWorldDraft: MarketOperation<Endpoints['cancelWorldDraft']> = async (market, { params, caller }) => {
  cityOrigin(market);
  const nowMs = market.clock.now();
  const draft = await market.database.transaction((tx) => cancelDraft(tx, params.id, { caller, nowMs }));
  return { status: 200, body: { draft: presentDraft(draft, nowMs) } };
};

async function cancelDraft(tx: Tx, id: bigint, { caller, nowMs }: { caller: Merchant; nowMs: number }): Promise<Draft> {
  const draft = await lockDraft(tx, id);
  if (draft === null || draft.merchantId !== caller.id) throw new Refusal('not_found');
  if (draft.state === 'canceled') return draft;
  const state = draftStateAt(draft, nowMs);
  if (state === 'fee_pending') throw new Refusal('draft_fee_pending', { retryAfterSeconds: 30 });
  if (nextDraftState(state, 'cancel') === null) throw new Refusal('draft_closed', { detail: `The draft is ${state}.` });
  await endDraft(tx, id, 'canceled', new Date(nowMs));
  const canceled = await findDraft(tx, id);
  if (canceled === null) throw new TypeError('a draft is never deleted');
  return canceled;
}
