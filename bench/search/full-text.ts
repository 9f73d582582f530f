import type { ClientBase } from 'pg';

const DOCUMENT = `setweight(to_tsvector('english', l.title), 'A')
  || setweight(to_tsvector('english', array_to_string(l.tags, ' ') || ' ' || m.handle), 'B')
  || setweight(to_tsvector('english', l.description), 'C')
  || setweight(to_tsvector('english', l.preview), 'D')`;

/** Makes the table that PostgreSQL's full text searches: the fields of each listing, weighted by field. */
export async function makeDocuments(client: ClientBase): Promise<void> {
  await client.query('create schema if not exists bench');
  await client.query(`create table bench.documents as
    select l.id, ${DOCUMENT} as document from listings l join merchants m on m.id = l.merchant_id where l.state = 'live'`);
  await client.query('create index on bench.documents using gin (document)');
  await client.query('analyze bench.documents');
}

/** Returns the ids of the listings with any word of a query, best first. */
export async function searchDocuments(client: ClientBase, query: string, limit: number): Promise<number[]> {
  const { rows } = await client.query<{ id: bigint }>(
    `select id from bench.documents, websearch_to_tsquery('english', $1) asked
     where document @@ asked order by ts_rank_cd(document, asked) desc, id limit $2`,
    [anyWordOf(query), limit],
  );
  return rows.map(({ id }) => Number(id));
}

/** Writes a query that asks for any of its words. Keeps no sign and no `or`, because PostgreSQL would read them as operators. */
export function anyWordOf(query: string): string {
  const words = query.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => word.toLowerCase() !== 'or').join(' or ');
}
