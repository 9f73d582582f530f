import type { ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { Client } from '../client.ts';
import { type Page, walkPages } from './walk-pages.ts';

export type FeeRecord = ResultOf<Endpoints['getTreasury']>['body']['recent_fees'][number];

/** The books of the listing fees, newest first. */
export function treasuryPages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<FeeRecord>> {
  return walkPages<FeeRecord>({
    read: async (cursor) => {
      const { body } = await client.getTreasury({ query: { ...options, before_id: cursor } });
      return {
        rows: body.recent_fees,
        total: body.fees_count,
        returned: body.fees_returned,
        page_size: body.fees_page_size,
        has_more: body.fees_has_more,
        next: body.fees_next_before_id,
      };
    },
    idOf: (fee) => fee.id,
    ids: 'newest_first',
    appendOnly: true,
    limit: options.limit,
  });
}
