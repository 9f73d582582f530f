import type { ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { Client } from '../client.ts';
import { type Page, walkPages } from './walk-pages.ts';

export type PurchaseRecord = ResultOf<Endpoints['listPurchases']>['body']['purchases'][number];

/** What the client's merchant bought, with the goods, newest first. */
export function purchasePages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<PurchaseRecord>> {
  return walkPages<PurchaseRecord>({
    read: async (cursor) => {
      const { body } = await client.listPurchases({ query: { ...options, before_id: cursor } });
      return { ...body, rows: body.purchases, next: body.next_before_id };
    },
    idOf: (purchase) => purchase.id,
    ids: 'newest_first',
    appendOnly: true,
    limit: options.limit,
  });
}
