import sql, { empty, join, type Sql } from 'sql-template-tag';
import { presentDetail, presentSummary } from '../../src/market/catalog/present-listing.ts';
import type { ListingRow } from '../../src/market/catalog/store.ts';
import type { Queryable } from '../../src/platform/database/database.ts';
import type { SqlPage, SqlShelf } from './page-request.ts';

const PAGE = 50;
const columns = sql`s.id, s.merchant, s.title, s.description, s.preview, s.price_units, s.seller_wallet, s.tags, s.aisle, s.state,
  s.pinned, s.created_at, s.removed_at, s.removed_reason, s.removed_reason_code, s.withdrawn_at, s.withdrawn_reason,
  s.artifact_commitment, s.artifact_bytes, s.artifact_media_type, s.world, s.votes, s.sales, s.verified_sales`;

/** Builds one page with its exact total by SQL, as a server without an in-memory catalog would. */
export async function sqlPage(database: Queryable, page: SqlPage): Promise<string> {
  if ('listing' in page) {
    const row = await database.maybe<ListingRow>(
      sql`select ${columns} from bench.shelf s where s.id = ${page.listing}`,
    );
    return JSON.stringify({ listing: row && presentDetail(row), comments: [] });
  }
  const [rows, { total }] = await Promise.all([readRows(database, page), count(database, page)]);
  return JSON.stringify({ listings: rows.map(presentSummary), total: Number(total), returned: rows.length });
}

function count(database: Queryable, shelf: SqlShelf): Promise<{ total: bigint }> {
  return database.one<{ total: bigint }>(sql`select count(*) as total from bench.shelf s where ${filterOf(shelf)}`);
}

/** Runs two queries for words: all matching ids by index, then the page. A single query would scan in page order. */
function readRows(database: Queryable, shelf: SqlShelf): Promise<ListingRow[]> {
  const { words, after, sort } = shelf;
  const order = sort === 'karma' ? sql`s.votes desc, s.id desc` : sql`s.id desc`;
  if (words === undefined) {
    const place = after === undefined ? empty : sql`and ${afterOf(sort, after)}`;
    return database.rows(sql`
      select ${columns} from bench.shelf s where ${filterOf(shelf)} ${place} order by ${order} limit ${PAGE}`);
  }
  const rank = sort === 'relevance' ? sql`ts_rank(s.document, ${queryOf(words)})` : sql`0::float4`;
  const best = sort === 'relevance' ? sql`found.rank desc, s.id desc` : order;
  return database.rows(sql`
    with found as materialized (select s.id, ${rank} as rank from bench.shelf s where ${filterOf(shelf)})
    select ${columns} from (
      select s.id, found.rank from found join bench.shelf s on s.id = found.id order by ${best} limit ${PAGE}
    ) page join bench.shelf s on s.id = page.id order by page.rank desc, ${order}`);
}

function afterOf(sort: SqlShelf['sort'], after: { id: number; votes: number }): Sql {
  return sort === 'karma' ? sql`(s.votes, s.id) < (${after.votes}, ${after.id})` : sql`s.id < ${after.id}`;
}

function filterOf({ aisle, tag, words }: SqlShelf): Sql {
  return join(
    [
      sql`s.state = 'live'`,
      ...(aisle === undefined ? [] : [sql`s.aisle = ${aisle}`]),
      ...(tag === undefined ? [] : [sql`s.tags @> array[${tag}]::text[]`]),
      ...(words === undefined ? [] : [sql`s.document @@ ${queryOf(words)}`]),
    ],
    ' and ',
  );
}

function queryOf(words: string): Sql {
  return sql`plainto_tsquery('english', ${words})`;
}
