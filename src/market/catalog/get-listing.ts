import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { artifactMessage, presentDetail } from './present-listing.ts';
import { readListing } from './store.ts';

export const getListing: MarketOperation<Endpoints['getListing']> = async (market, call) => {
  const row = await readListing(market.database, call.params.id);
  if (row === null) throw new Refusal('not_found', { detail: `There is no listing ${call.params.id}.` });
  // Nobody can comment yet, so no cursor of comments was ever given out.
  if (call.query.comments_after_id !== undefined)
    throw new Refusal('cursor_invalid', { detail: 'comments_after_id does not name a comment of this listing.' });
  return {
    status: 200,
    body: {
      listing: presentDetail(row),
      comments: [],
      comments_total: 0,
      comments_returned: 0,
      comments_page_size: call.query.comments_limit,
      comments_has_more: false,
      comments_next_after_id: null,
      artifact: artifactMessage(row),
    },
  };
};
