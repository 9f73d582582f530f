import { worldOfListing } from '../../src/market/catalog/store.ts';
import { connectClient } from '../../src/platform/database/connection.ts';

/** The searched document. Index and query must use the same expression, or the index is not used. */
const DOCUMENT = `to_tsvector('english', title || ' ' || description || ' ' || preview || ' ' || array_to_string(tags, ' '))`;

/** Statements that create what an SQL-only server would have: one table with counts, and an index per shelf. */
const STATEMENTS: readonly string[] = [
  `create table bench.shelf as
    select l.id, l.merchant_id, m.handle as merchant, l.title, l.description, l.preview, l.price_units, l.seller_wallet, l.tags,
      l.aisle, l.state, l.pinned, l.created_at, l.removed_at, l.removed_reason, l.removed_reason_code, l.withdrawn_at,
      l.withdrawn_reason, l.artifact_commitment, l.artifact_bytes, l.artifact_media_type,
      ${worldOfListing} as world,
      (select count(*)::int from votes v where v.listing_id = l.id) as votes,
      (select count(*)::int from purchases p where p.listing_id = l.id) as sales,
      (select count(*)::int from purchases p where p.listing_id = l.id and p.paid_units > 0) as verified_sales,
      ${DOCUMENT} as document
    from listings l join merchants m on m.id = l.merchant_id`,
  'alter table bench.shelf alter column document set storage extended',
  'alter table bench.shelf add primary key (id)',
  "create index on bench.shelf (id desc) where state = 'live'",
  "create index on bench.shelf (aisle, id desc) where state = 'live'",
  "create index on bench.shelf (votes desc, id desc) where state = 'live'",
  "create index on bench.shelf (aisle, votes desc, id desc) where state = 'live'",
  "create index on bench.shelf using gin (tags) where state = 'live'",
  "create index on bench.shelf using gin (document) where state = 'live'",
  'vacuum (analyze) bench.shelf',
];

/** Makes the tables once. A reused folder already has them. */
export async function makeSqlTables(url: string, signal: AbortSignal): Promise<void> {
  const client = await connectClient({ url, applicationName: 'openaisle-bench-sql', statementTimeoutMs: 0 });
  try {
    const { rows } = await client.query<{ made: boolean }>(`select exists (
      select from pg_description where objoid = to_regclass('bench.shelf') and description = 'whole') as made`);
    if (rows[0]?.made === true) return;
    await client.query('drop table if exists bench.shelf');
    await client.query("set maintenance_work_mem = '512MB'");
    for (const statement of STATEMENTS) {
      signal.throwIfAborted();
      await client.query(statement);
    }
    await client.query("comment on table bench.shelf is 'whole'");
  } finally {
    await client.end();
  }
}
