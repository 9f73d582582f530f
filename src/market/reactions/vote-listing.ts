import type { Endpoints } from '../../contract/index.ts';
import { takeQuotaAndDo } from '../../platform/database/quota.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { dailyQuota } from '../limits/quotas.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { countVotes, type VoteOutcome, voteAct, votesWithOwn } from './store.ts';

/**
 * POST /api/vote. Repeating a vote works in every state of the listing and uses no quota; all other calls use it, even refused ones. Votes
 * are frequent, so each takes only one statement.
 */
export const voteListing: MarketOperation<Endpoints['voteListing']> = async (market, call) => {
  const { caller } = call;
  const id = call.body.listing_id;
  const quota = dailyQuota(market, 'votes_per_merchant_day', caller.id);
  const act = voteAct(id, caller.id, new Date(market.clock.now()));
  const outcome = await takeQuotaAndDo<VoteOutcome>(market, quota, votesWithOwn(id, caller.id), act);
  const votes = outcome.existing ?? (await votesAfter(market, caller, id, outcome));
  return { status: 200, body: { listing_id: Number(id), votes: Number(votes) } };
};

async function votesAfter({ database }: Market, caller: Merchant, id: bigint, outcome: VoteOutcome): Promise<bigint> {
  const { state, seller_id: sellerId, votes } = outcome;
  if (state === null) throw new Refusal('not_found', { detail: 'There is no listing with that id.' });
  if (sellerId === caller.id) throw new Refusal('own_listing');
  mustStep({ state }, 'vote');
  return votes ?? (await countVotes(database, id));
}
