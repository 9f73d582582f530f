import type { MerchantRecord } from '../../contract/listings.ts';
import type { Client } from '../client.ts';
import { type Page, walkPages } from './walk-pages.ts';

/** All merchants who were there when the walk began, oldest first. */
export function merchantPages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<MerchantRecord>> {
  return walkPages<MerchantRecord>({
    read: async (cursor) => {
      const { body } = await client.listMerchants({ query: { ...options, after_id: cursor } });
      return { ...body, rows: body.merchants, next: body.next_after_id };
    },
    idOf: (merchant) => merchant.id,
    ids: 'oldest_first',
    appendOnly: true,
    limit: options.limit,
  });
}
