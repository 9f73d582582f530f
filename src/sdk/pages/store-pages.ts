import type { ListingSummary } from '../../contract/listings.ts';
import type { Client } from '../client.ts';
import { type Page, walkPages } from './walk-pages.ts';

/** One merchant's live listings, newest first. Without a limit the market sends the whole catalog as one page. */
export function storePages(
  client: Client,
  handle: string,
  options: { limit?: number } = {},
): AsyncGenerator<Page<ListingSummary>> {
  return walkPages<ListingSummary>({
    read: async (cursor) => {
      const { body } = await client.getStore({ params: { handle }, query: { ...options, before_id: cursor } });
      return { ...body, rows: body.listings, next: body.next_before_id };
    },
    idOf: (listing) => listing.id,
    ids: 'newest_first',
    appendOnly: false,
    limit: options.limit,
  });
}
