import type { QueryGiven } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import { makeBrowseShelves } from '../../src/market/catalog/shelf/browse-shelves.ts';
import { ask } from './ask.ts';
import type { TestMarket } from './market-context.ts';

/** Filters, sort, size and place, as they are sent. */
export type ShelfGiven = QueryGiven<typeof endpoints.browseShelves>;

export const browsePage = (market: TestMarket, query: ShelfGiven) =>
  ask(market, endpoints.browseShelves, makeBrowseShelves(market.catalog), { query });
export type ShelfPage = Awaited<ReturnType<typeof browsePage>>;
export const idsOf = (page: ShelfPage): number[] => page.listings.map(({ id }) => id);

export interface WalkActs {
  /** After each page, also the last. */
  seen?: (page: ShelfPage) => Promise<void> | void;
}

/** Walks to the end, letting `between` act after each page but the last. */
export async function walkShelves(
  market: TestMarket,
  query: ShelfGiven,
  between: () => Promise<void> = async () => {},
  { seen = () => {} }: WalkActs = {},
) {
  const pages: ShelfPage[] = [];
  for (let asked: ShelfGiven | null = query; asked !== null; ) {
    const page: ShelfPage = await browsePage(market, asked);
    await seen(page);
    pages.push(page);
    const cursor = page.next_cursor;
    asked = cursor === null ? null : { ...query, cursor };
    if (asked !== null) await between();
  }
  return { pages, ids: pages.flatMap(idsOf) };
}
