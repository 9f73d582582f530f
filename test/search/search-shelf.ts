import type { SearchReport } from '../../src/contract/search-report.ts';
import { shelfQuery } from '../../src/contract/shelves.ts';
import { reachId } from '../../src/market/catalog/model/columns.ts';
import { createModel, type Model } from '../../src/market/catalog/model/model.ts';
import { setLevel } from '../../src/market/catalog/sets/posting.ts';
import { planShelf, resolveShelf } from '../../src/market/catalog/shelf/plan-shelf.ts';
import { openCursor, shelfParts } from '../../src/market/catalog/shelf/shelf-page.ts';
import type { ListingText } from '../../src/market/catalog/text/text-index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createCursors } from '../../src/platform/cursor.ts';
import type { ShelfGiven } from '../support/ask.ts';

export interface FoundPage {
  /** In the order of the answer. */
  readonly titles: readonly string[];
  readonly total: number;
  readonly search: SearchReport;
  readonly cursor: string | null;
}

export type Find = (q: string, query?: Omit<ShelfGiven, 'q'>) => Promise<FoundPage>;

/** Returns a search over these listings as the shelves answer it, without the database. */
export function createSearchShelf(listings: readonly ListingText[]): Find {
  const model = createModel({
    fragmentBytes: 1 << 20,
    deflatedBytes: 1 << 20,
    pageBytes: 1 << 20,
    giveWay: async () => {},
  });
  for (const [index, text] of listings.entries()) addLive(model, index + 1, text);
  return async (q, query = {}) => {
    const plan = planShelf(shelfQuery.parse({ q, limit: '50', ...query }));
    // Each page gets cursors of its own, as from another process with the same key.
    const cursors = createCursors([Buffer.alloc(32, 7)], systemClock);
    const cursor = openCursor(cursors, plan, query.cursor);
    const resolution = resolveShelf(model, plan, cursor?.choices ?? null);
    if (resolution === null) throw new Error(`No words in ${q}`);
    await model.text.prepare(resolution);
    const search = model.text.compile(resolution);
    if (search === null) throw new Error(`${q} is not prepared`);
    const { ids, suffix } = shelfParts(model, cursors, { plan, search, cursor });
    const rest = JSON.parse(`{${suffix.toString().slice(2)}`);
    const titles = ids.map((id) => listings[id - 1]?.title ?? '');
    return { titles, total: rest.total, search: rest.search, cursor: rest.next_cursor };
  };
}

function addLive(model: Model, id: number, text: ListingText): void {
  reachId(model.columns, id);
  model.newestId = id;
  setLevel(model.live, id, 1);
  model.text.put(id, text);
}
