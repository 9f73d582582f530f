import type { Endpoints } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { MarketOperation } from '../../context.ts';
import { cityOrigin } from '../city/fetch-city.ts';
import { mustNotBeLost } from '../lost/must-not-be-lost.ts';
import { presentDraft } from './present-draft.ts';
import { findDraft } from './store.ts';

/** GET /api/world/draft/:id. Public: the city reads it, and buyers may compare it with the offer. */
export const getWorldDraft: MarketOperation<Endpoints['getWorldDraft']> = async (market, { params }) => {
  cityOrigin(market);
  const draft = await findDraft(market.database, params.id);
  if (draft === null) await mustNotBeLost(market.database, 'world_drafts', params.id);
  if (draft === null) throw new Refusal('not_found');
  return { status: 200, body: { draft: presentDraft(draft, market.clock.now()) } };
};
