import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Migration {
  number: number;
  name: string;
  text: string;
  sha256: Buffer;
  /** Code that does not know it starts and works on the tables that it leaves. */
  compatible: boolean;
}

const COMPATIBLE = /^-- compatible: older code$/;
const FILE_NAME = /^(\d{4})-([a-z0-9]+(?:-[a-z0-9]+)*)\.sql$/;

/** The migrations of a folder in order. Numbers start at 1 and leave no gap: a lost file must not go unnoticed. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const migrations: Migration[] = [];
  for (const [index, file] of names.entries()) {
    const match = FILE_NAME.exec(file);
    if (match === null) throw new Error(`migration ${file} in ${folder} must be called NNNN-name.sql, in lower case`);
    const number = Number(match[1]);
    if (number === index) throw new Error(`two migrations in ${folder} have the number ${match[1]}`);
    if (number !== index + 1)
      throw new Error(`migration ${String(index + 1).padStart(4, '0')} is missing in ${folder}: next is ${file}`);
    const bytes = await readFile(join(folder, file));
    const sha256 = createHash('sha256').update(bytes).digest();
    const text = bytes.toString('utf8');
    migrations.push({
      number,
      name: file.slice(0, -'.sql'.length),
      text,
      sha256,
      compatible: isCompatible(text, file),
    });
  }
  return migrations;
}

/** Says so by its first line. */
function isCompatible(text: string, file: string): boolean {
  const [first = '', ...rest] = text.split('\n');
  const misplaced = [COMPATIBLE.test(first) ? '' : first, ...rest].find((line) => /^--\s*compatible\b/i.test(line));
  if (misplaced !== undefined)
    throw new Error(`"${misplaced}" in ${file}: the first line may be "-- compatible: older code", and no other`);
  return COMPATIBLE.test(first);
}
