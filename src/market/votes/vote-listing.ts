import type { Endpoints } from '../../contract/index.ts';
import { takeQuotaUnless } from '../../platform/database/quotas/take-quota.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { dailyQuota } from '../limits/daily-quota.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { countVotes, insertVote, votesWithOwn } from './store.ts';

/**
 * POST /api/vote. A vote that stands is answered again in every state of the listing and uses nothing up; every other call counts,
 * refused ones included (W10).
 */
export const voteListing: MarketOperation<Endpoints['voteListing']> = async (market, call) => {
  const { caller } = call;
  const id = call.body.listing_id;
  const quota = dailyQuota(market, 'votes_per_merchant_day', caller.id);
  const standing = await takeQuotaUnless(market, quota, votesWithOwn(id, caller.id));
  const votes = standing ?? (await vote(market, caller, id));
  return { status: 200, body: { listing_id: Number(id), votes: Number(votes) } };
};

async function vote({ database, clock }: Market, caller: Merchant, id: bigint): Promise<bigint> {
  const outcome = await insertVote(database, id, caller.id, new Date(clock.now()));
  if (outcome === null) throw new Refusal('not_found', { detail: 'There is no listing with that id.' });
  if (outcome.sellerId === caller.id) throw new Refusal('own_listing');
  mustStep(outcome, 'vote');
  return outcome.votes ?? (await countVotes(database, id));
}
