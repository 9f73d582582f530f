import { connectClient } from '../../src/platform/database/connection.ts';

/** Runs one statement on a connection of its own: for what cannot run in a transaction, such as creating a database. */
export async function onServer(url: string, text: string): Promise<void> {
  const client = await connectClient({ url, applicationName: 'openaisle-test', statementTimeoutMs: 0 });
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
