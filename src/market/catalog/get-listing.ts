import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketRead } from '../context.ts';
import type { MarketCatalog } from './market-catalog.ts';
import { detailTail, joinDetail, wrapDetail } from './serve/detail.ts';
import { detailTag, prepareDetail } from './serve/quick-listing.ts';
import { readAbsent } from './serve/read-page.ts';

/** A row that changes between model and database is met again after the next step. */
const ROUNDS = 10;

/** The long way: for what is not in memory, and for what has to be refused. */
export function makeGetListing(catalog: MarketCatalog): MarketRead<Endpoints['getListing']> {
  return async (market, call) => {
    const id = Number(call.params.id);
    // Nobody can comment yet, so no cursor of comments was ever given out.
    if (call.query.comments_after_id !== undefined)
      throw new Refusal('cursor_invalid', { detail: 'comments_after_id does not name a comment of this listing.' });
    for (let round = 0; round < ROUNDS; round += 1) {
      const model = catalog.model();
      const tail = detailTail(model, id, call.query.comments_limit);
      if (tail === null) throw new Refusal('not_found', { detail: `There is no listing ${call.params.id}.` });
      const body = joinDetail(model.fragments, id, tail);
      if (body !== null) return { status: 200, prepared: prepareDetail(model, id, body, tail) };
      const tag = detailTag(model, id, tail);
      const summary = (await readAbsent(model, market.database, [id]))?.get(id)?.bytes;
      const now = detailTail(model, id, call.query.comments_limit);
      // While it was read, what the model knows of it may have changed.
      if (summary !== undefined && now === tail && detailTag(model, id, tail) === tag) {
        return { status: 200, prepared: prepareDetail(model, id, wrapDetail(summary, tail), tail) };
      }
      await catalog.fresh();
    }
    throw new Refusal('unavailable', { retryAfterSeconds: 1 });
  };
}
