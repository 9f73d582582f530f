import sql, { empty, type Sql } from 'sql-template-tag';
import type { EventKind } from '../../../contract/vocabulary.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { StreamedFilter } from '../store.ts';

export interface StreamRow {
  id: bigint;
  kind: EventKind;
  in_door: boolean;
  in_window: boolean;
  canonical: Buffer;
}

/** The filtered log from one event, itself left out, to another, in the order of ids. */
export async function readEventsAfter(
  queryable: Queryable,
  filter: StreamedFilter,
  { afterId, upToId, limit }: { afterId: number; upToId: number; limit: number },
): Promise<StreamRow[]> {
  return queryable.rows<StreamRow>(sql`
    select id, kind, in_door, in_window, canonical from events
    where id > ${afterId} and id <= ${upToId} and id is not null ${matches(filter)} order by id limit ${limit}`);
}

function matches(filter: StreamedFilter): Sql {
  if (filter === null) return empty;
  if ('kind' in filter) return sql`and kind = ${filter.kind}`;
  return filter.scope === 'door' ? sql`and in_door` : sql`and in_window`;
}
