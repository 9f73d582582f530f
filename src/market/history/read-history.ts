import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { HistoryPage, Standing } from './store.ts';

export interface History<Item> {
  items: Item[];
  total: number;
  hasMore: boolean;
  nextBeforeId: number | null;
}

interface Source<Row> {
  stand(database: Queryable, page: HistoryPage): Promise<Standing>;
  read(database: Queryable, page: HistoryPage): Promise<Row[]>;
  /** The name of the cursor in the query, for the refusal. */
  cursorName: string;
}

/** One page of something that a merchant may walk, newest first. To be given an open snapshot, or the lock of this history. */
export async function readHistory<Row, Item extends { id: number }>(
  queryable: Queryable,
  page: HistoryPage,
  source: Source<Row>,
  present: (row: Row) => Item,
): Promise<History<Item>> {
  const { total, cursorKnown } = await source.stand(queryable, page);
  if (!cursorKnown)
    throw new Refusal('cursor_invalid', { detail: `${source.cursorName} does not name a row of this history.` });
  const rows = await source.read(queryable, { ...page, limit: page.limit + 1 });
  const items = rows.slice(0, page.limit).map(present);
  const hasMore = rows.length > items.length;
  return { items, total: Number(total), hasMore, nextBeforeId: hasMore ? (items.at(-1)?.id ?? null) : null };
}
