import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketRead } from '../context.ts';
import type { MarketCatalog } from './market-catalog.ts';
import type { Model } from './model/model.ts';
import { planShelf, type ShelfPlan } from './shelf/plan-shelf.ts';
import { isBehind, openWalk, shelfParts } from './shelf/shelf-parts.ts';
import type { Search } from './text/text-index.ts';

const SEARCH_RETRY_SECONDS = 5;
/** A beginning that was prepared may be forgotten again before it is used, where very many are asked for at once. */
const TRIES = 5;

/** The long way: for what is not in memory, and for what has to be refused. */
export function makeBrowseShelves({
  model,
  fresh,
  answers,
  shelfCursors,
}: MarketCatalog): MarketRead<Endpoints['browseShelves']> {
  return async (_market, call) => {
    const plan = planShelf(call.query);
    const walk = openWalk(shelfCursors, plan, call.query.cursor);
    if (isBehind(model(), plan, walk)) await fresh();
    for (let round = 0; round < TRIES; round += 1) {
      await prepare(model(), plan);
      if (searchOf(model(), plan) === 'unprepared') continue;
      const prepared = await answers.full((current) => {
        const search = searchOf(current, plan);
        if (search === 'unprepared') throw new Refusal('search_not_ready', { retryAfterSeconds: 1 });
        return shelfParts(current, shelfCursors, { plan, search, walk });
      });
      return { status: 200, prepared };
    }
    throw new Refusal('search_not_ready', { retryAfterSeconds: 1 });
  };
}

async function prepare(model: Model, { words }: ShelfPlan): Promise<void> {
  if (words === null) return;
  checkReady(model);
  await model.text.prepare(words);
}

function searchOf(model: Model, { words }: ShelfPlan): Search | null | 'unprepared' {
  if (words === null) return null;
  // While it was prepared, another model may have come, whose index is at its beginning.
  checkReady(model);
  return model.text.compile(words) ?? 'unprepared';
}

function checkReady(model: Model): void {
  if (model.textUpTo === Number.POSITIVE_INFINITY) return;
  throw new Refusal('search_not_ready', { retryAfterSeconds: SEARCH_RETRY_SECONDS });
}
