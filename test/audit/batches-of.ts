import type pg from 'pg';

/** The rows of a query, so many at a time, in the transaction that is open. One reading at a time. */
export async function* batchesOf<Row extends pg.QueryResultRow>(
  client: pg.Client,
  query: string,
  rows: number,
): AsyncGenerator<Row[], void, undefined> {
  await client.query(`declare looked_through no scroll cursor for ${query}`);
  for (;;) {
    const found = await client.query<Row>(`fetch ${rows} from looked_through`);
    if (found.rows.length > 0) yield found.rows;
    if (found.rows.length < rows) break;
  }
  await client.query('close looked_through');
}
