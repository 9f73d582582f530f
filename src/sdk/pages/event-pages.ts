import type { ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { EventKind, Scope } from '../../contract/vocabulary.ts';
import type { Client } from '../client.ts';
import { type Page, walkPages } from './walk-pages.ts';

export type EventRecord = ResultOf<Endpoints['listEvents']>['body']['events'][number];

/** Kind, scope or listing, no two of them. */
export type EventFilters = { limit?: number } & (
  | { kind?: never; scope?: never; listing_id?: never }
  | { kind: EventKind }
  | { scope: Scope }
  | { listing_id: number }
);

/** The public log, newest first. Unfiltered its ids fall by one without holes but those of a recovery, and the walk insists on that. */
export function eventPages(client: Client, filters: EventFilters = {}): AsyncGenerator<Page<EventRecord>> {
  const filtered = 'kind' in filters || 'scope' in filters || 'listing_id' in filters;
  return walkPages<EventRecord>({
    read: async (cursor) => {
      const { body } = await client.listEvents({ query: { ...filters, before_id: cursor } });
      return { ...body, rows: body.events, next: body.next_before_id };
    },
    idOf: (event) => event.id,
    begunAt: ({ kind, detail }) => (kind === 'recovery' ? Number(detail['next_event_id']) : null),
    ids: filtered ? 'newest_first' : 'gapless',
    appendOnly: true,
    limit: filters.limit,
  });
}
