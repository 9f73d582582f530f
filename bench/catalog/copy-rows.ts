import { chmod, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientBase } from 'pg';

/** Values allowed in a row of COPY's text format. */
export type CopyValue = string | number | boolean | Buffer | readonly string[];

export interface CopyTable {
  table: string;
  columns: readonly string[];
}

/**
 * Loads rows from files that the server reads itself, several times faster than statements with values. The server runs on this machine as
 * another user, so the files are readable by everybody. They contain only what a benchmark lists.
 */
export async function withCopyFolder<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-copy-'));
  try {
    await chmod(folder, 0o755);
    return await act(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves when the rows are in the table. Deletes the file. */
export async function copyFile(client: ClientBase, { table, columns }: CopyTable, file: string): Promise<void> {
  await client.query(`copy ${table} (${columns.join(', ')}) from '${file.replaceAll("'", "''")}'`);
  await unlink(file);
}

export async function writeRows(folder: string, name: string, lines: readonly string[]): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o644 });
  return file;
}

export function copyLine(values: readonly CopyValue[]): string {
  return values.map(inCopyForm).join('\t');
}

function inCopyForm(value: CopyValue): string {
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  return escaped(`{${value.map((item) => `"${item.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`);
}

const NAMES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(text: string): string {
  return /[\\\n\r\t]/.test(text) ? text.replaceAll(/[\\\n\r\t]/g, (character) => NAMES[character] ?? character) : text;
}
