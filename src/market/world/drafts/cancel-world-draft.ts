import type { Endpoints } from '../../../contract/index.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { MarketOperation, Merchant } from '../../context.ts';
import { cityOrigin } from '../city.ts';
import { draftStateAt, presentDraft } from './get-world-draft.ts';
import { type Draft, endDraft, findDraft, lockDraft, nextDraftState } from './store.ts';

/** POST /api/world/draft/:id/cancel. Again: nothing. A foreign draft and an absent one are answered alike. */
export const cancelWorldDraft: MarketOperation<Endpoints['cancelWorldDraft']> = async (market, { params, caller }) => {
  cityOrigin(market);
  const nowMs = market.clock.now();
  const draft = await market.database.transaction((tx) => cancel(tx, params.id, { caller, nowMs }));
  return { status: 200, body: { draft: presentDraft(draft, nowMs) } };
};

async function cancel(tx: Tx, id: bigint, { caller, nowMs }: { caller: Merchant; nowMs: number }): Promise<Draft> {
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
