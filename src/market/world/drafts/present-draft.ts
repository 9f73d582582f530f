import { checksummed } from '../../../contract/chain-values.ts';
import { usdcOfUnits } from '../../../contract/money.ts';
import type { DraftOut, DraftState } from '../../../contract/world-records.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Draft } from './store.ts';

/** A pending one is over when its time is, whether anybody has written that or not. */
export function draftStateAt({ state, expiresAt }: Pick<Draft, 'state' | 'expiresAt'>, nowMs: number): DraftState {
  return state === 'pending' && nowMs >= expiresAt.getTime() ? 'expired' : state;
}

export function presentDraft(draft: Draft, nowMs: number): DraftOut {
  return {
    id: Number(draft.id),
    seller: draft.seller,
    title: draft.title,
    description: draft.description,
    preview: draft.preview,
    price_usdc: usdcOfUnits(draft.priceUnits),
    seller_wallet: checksummed(draft.sellerWallet),
    tags: draft.tags,
    thing_id: Number(draft.thingId),
    state: draftStateAt(draft, nowMs),
    listing_id: draft.listingId === null ? null : Number(draft.listingId),
    created_at: isoTime(draft.createdAt),
    expires_at: isoTime(draft.expiresAt),
  };
}
