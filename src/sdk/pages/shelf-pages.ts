import type { AttributeName } from '../../contract/listing-fields.ts';
import type { ListingSummary } from '../../contract/listings.ts';
import type { Aisle, Sort } from '../../contract/vocabulary.ts';
import type { Client } from '../client.ts';
import { type Page, walkPages } from './walk-pages.ts';

export interface ShelfFilters extends Partial<Record<AttributeName, string>> {
  aisle?: Aisle;
  sort?: Sort;
  /** Rows per page, 1 to 50. */
  limit?: number;
}

/** The live listings. Pinned ones come first, each group newest first. */
export function shelfPages(client: Client, filters: ShelfFilters = {}): AsyncGenerator<Page<ListingSummary>> {
  return walkPages<ListingSummary>({
    read: async (cursor) => {
      const { body } = await client.browseShelves({ query: { ...filters, cursor } });
      return { ...body, rows: body.listings.filter((row) => 'merchant' in row), next: body.next_cursor };
    },
    idOf: (listing) => listing.id,
    ids: (filters.sort ?? 'new') === 'new' ? 'pinned_first' : 'any',
    appendOnly: false,
    limit: filters.limit,
  });
}
