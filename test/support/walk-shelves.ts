import { endpoints } from '../../src/contract/index.ts';
import type { Aisle } from '../../src/contract/vocabulary.ts';
import { browseShelves } from '../../src/market/catalog/browse-shelves.ts';
import type { Market } from '../../src/market/context.ts';
import { ask } from './ask.ts';

type Given = { aisle?: Aisle; limit?: string; cursor?: string };
export const browsePage = (market: Market, query: Given) =>
  ask(market, endpoints.browseShelves, browseShelves, { query });
type Page = Awaited<ReturnType<typeof browsePage>>;
export const idsOf = (page: Page): number[] => page.listings.map(({ id }) => id);

/** Walks to the end, letting `between` act after each page but the last. */
export async function walkShelves(market: Market, query: Given, between: () => Promise<void> = async () => {}) {
  const pages = [await browsePage(market, query)];
  for (let cursor = pages[0]?.next_cursor; cursor; cursor = pages.at(-1)?.next_cursor) {
    await between();
    pages.push(await browsePage(market, { ...query, cursor }));
  }
  return { pages, ids: pages.flatMap(idsOf) };
}
