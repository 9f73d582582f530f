import { checksummed } from '../../../contract/chain-values.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { usdcOfUnits } from '../../../contract/money.ts';
import type { DraftOut, DraftState } from '../../../contract/world-records.ts';
import { isoTime } from '../../../platform/clock.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { MarketOperation } from '../../context.ts';
import { cityOrigin } from '../city.ts';
import { mustNotBeLost } from '../store.ts';
import { type Draft, findDraft } from './store.ts';

/** GET /api/world/draft/:id. Public, because the city reads it and buyers may compare it with the offer. */
export const getWorldDraft: MarketOperation<Endpoints['getWorldDraft']> = async (market, { params }) => {
  cityOrigin(market);
  const draft = await findDraft(market.database, params.id);
  if (draft === null) await mustNotBeLost(market.database, 'world_drafts', params.id);
  if (draft === null) throw new Refusal('not_found');
  return { status: 200, body: { draft: presentDraft(draft, market.clock.now()) } };
};

/** Returns `expired` for a pending draft past its time, even if its row still says pending. */
export function draftStateAt({ state, expiresAt }: Pick<Draft, 'state' | 'expiresAt'>, nowMs: number): DraftState {
  return state === 'pending' && nowMs >= expiresAt.getTime() ? 'expired' : state;
}

/** Shows a draft's texts only while it can sell something, because the maintainer cannot remove texts of a draft that was never listed. */
export function presentDraft(draft: Draft, nowMs: number): DraftOut {
  const state = draftStateAt(draft, nowMs);
  const isOver = draft.isRemoved || state === 'canceled' || state === 'expired';
  return {
    id: Number(draft.id),
    seller: draft.seller,
    title: isOver ? '' : draft.title,
    description: isOver ? '' : draft.description,
    preview: isOver ? '' : draft.preview,
    price_usdc: usdcOfUnits(draft.priceUnits),
    seller_wallet: checksummed(draft.sellerWallet),
    tags: isOver ? [] : draft.tags,
    keywords: isOver ? [] : draft.keywords,
    thing_id: Number(draft.thingId),
    state,
    listing_id: draft.listingId === null ? null : Number(draft.listingId),
    created_at: isoTime(draft.createdAt),
    expires_at: isoTime(draft.expiresAt),
  };
}
