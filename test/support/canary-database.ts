import type { Client } from 'pg';
import { connectClient } from '../../src/platform/database/connection.ts';
import { CANARY_PREFIXES, holdsSecret } from './canary.ts';

interface Column {
  table: string;
  column: string;
  type: string;
}

const COLUMNS = `
  select c.oid::regclass::text as table, format('t.%I', a.attname) as column, format_type(a.atttypid, null) as type
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind in ('r', 'p', 'm') and c.relnamespace <> 'information_schema'::regnamespace
    and c.relnamespace::regnamespace::text not like 'pg\\_%' order by 1, a.attnum`;

/** The tables of a database in which a secret stands: every row as text, its bytes decoded. */
export async function tablesWithSecrets(url: string): Promise<string[]> {
  const settings = { url, applicationName: 'openaisle-canary', statementTimeoutMs: 300_000 };
  const client = await connectClient(settings).catch((error: unknown) => {
    // Dropped by its test already.
    if (error instanceof Error && 'code' in error && error.code === '3D000') return null;
    throw error;
  });
  if (client === null) return [];
  try {
    return await search(client);
  } finally {
    await client.end();
  }
}

async function search(client: Client): Promise<string[]> {
  const { rows: columns } = await client.query<Column>(COLUMNS);
  const tables = Map.groupBy(columns, ({ table }) => table);
  if (tables.size === 0) return [];
  // The database looks for what a secret begins with, as only few rows have that; what is one for certain the guard knows.
  const parts = [...tables].map(
    ([table, own]) => `select '${table}' as table, text from (
      select concat_ws(' ', ${own.map(asText).join(', ')}) as text from ${table} t) rows where text ~* '${BEGINNINGS}'`,
  );
  const { rows } = await client.query<{ table: string; text: string }>(parts.join('\nunion all '));
  return [...new Set(rows.filter(({ text }) => holdsSecret(text)).map(({ table }) => table))];
}

function asText({ column, type }: Column): string {
  if (type === 'bytea') return `encode(${column}, 'escape')`;
  if (type === 'bytea[]') return `(select string_agg(encode(one, 'escape'), ' ') from unnest(${column}) one)`;
  return `${column}::text`;
}

/** The same three bytes further on in each: base64 spells a text in three ways. */
function inBase64(text: string): string[] {
  return [0, 1, 2].map((shift) => {
    const spelled = Buffer.from('\0'.repeat(shift) + text).toString('base64');
    // Characters at the edge also hold bits of the neighbouring text.
    const whole = spelled.slice(Math.ceil((4 * shift) / 3), Math.floor((4 * (shift + text.length)) / 3));
    return whole.replaceAll('+', '\\+');
  });
}

const BEGINNINGS = [
  ...CANARY_PREFIXES.map((prefix) => `${prefix}_(sk|rc|pc)_`),
  ...CANARY_PREFIXES.flatMap((prefix) => inBase64(`${prefix}_`)),
].join('|');
