import type pg from 'pg';

/** Whether the schema has this table, which older ones may lack. */
export async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>('select to_regclass($1) is not null as has', [name]);
  return rows[0]?.has === true;
}

/** Yields the rows of a query in batches, within the open transaction. Only one reader may run at a time. */
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
