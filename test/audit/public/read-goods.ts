import type { ListingSummary } from '../../../src/contract/listings.ts';
import type { Client } from '../../../src/sdk/client.ts';
import { MarketError } from '../../../src/sdk/errors.ts';
import { shelfPages } from '../../../src/sdk/pages.ts';
import { PageRefused } from '../../../src/sdk/walk-pages.ts';
import type { Goods } from '../promises.ts';

/** Everything on the shelves, by id. */
export async function readShelves(
  client: Client,
  goodsOf: (listing: ListingSummary) => Goods,
): Promise<{ goods: Map<number, Goods>; faults: string[] }> {
  const goods = new Map<number, Goods>();
  try {
    for await (const { rows } of shelfPages(client)) for (const row of rows) goods.set(row.id, goodsOf(row));
  } catch (error) {
    if (!(error instanceof PageRefused)) throw error;
    return { goods, faults: [`the shelves contradict themselves: ${error.message}`] };
  }
  return { goods, faults: [] };
}

/** One that is not on the shelves any more; null: the market does not have it. */
export async function readListing(
  client: Client,
  id: number,
  goodsOf: (listing: ListingSummary) => Goods,
): Promise<Goods | null> {
  try {
    const { body } = await client.getListing({ params: { id }, query: {} });
    return goodsOf(body.listing);
  } catch (error) {
    if (error instanceof MarketError && (error.status === 404 || error.status === 409)) return null;
    throw error;
  }
}
