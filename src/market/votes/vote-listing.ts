import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { takeQuota } from '../limits/take-quota.ts';
import { shareListing } from '../listings/store.ts';
import { countVotes, hasVoted, insertVote } from './store.ts';

const DAY_SECONDS = 86_400;

/**
 * POST /api/vote. A vote that stands is answered again in every state of the listing and uses nothing up; every other call counts,
 * refused ones included (W10).
 */
export const voteListing: MarketOperation<Endpoints['voteListing']> = async (market, call) => {
  const { caller } = call;
  const id = call.body.listing_id;
  if (!(await hasVoted(market.database, id, caller.id))) {
    await takeQuota(market, {
      name: 'votes_per_merchant_day',
      subject: caller.id.toString(),
      limit: market.config.limits.votes_per_merchant_day,
      windowSeconds: DAY_SECONDS,
    });
    await vote(market, caller, id);
  }
  const votes = await countVotes(market.database, id);
  return { status: 200, body: { listing_id: Number(id), votes: Number(votes) } };
};

async function vote(market: Market, caller: Merchant, id: bigint): Promise<void> {
  await market.database.transaction(async (tx) => {
    const listing = await shareListing(tx, id);
    if (listing === null) throw new Refusal('not_found', { detail: 'There is no listing with that id.' });
    if (listing.merchantId === caller.id) throw new Refusal('own_listing');
    if (listing.state !== 'live') throw new Refusal('listing_closed', { detail: `The listing is ${listing.state}.` });
    await insertVote(tx, id, caller.id, new Date(market.clock.now()));
  });
}
