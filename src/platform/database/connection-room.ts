import { connectClient } from './connection.ts';

/** How many connections the server lets ordinary roles have, all programs on all hosts together. */
export async function readConnectionRoom(url: string): Promise<number> {
  const client = await connectClient({ url, applicationName: 'openaisle-room', statementTimeoutMs: 5_000 });
  try {
    const { rows } = await client.query<{ room: number }>(`
      select (current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4
        - coalesce(current_setting('reserved_connections', true), '0')::int4) as room`);
    return rows[0]?.room ?? 0;
  } finally {
    await client.end();
  }
}
