import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Migration {
  number: number;
  name: string;
  text: string;
  sha256: Buffer;
  /** True if older code that does not know the migration may still start. */
  compatible: boolean;
}

const COMPATIBLE = /^-- compatible: older code$/;
const FILE_NAME = /^(\d{4})-([a-z0-9]+(?:-[a-z0-9]+)*)\.sql$/;

/** Reads the migrations of a folder in order. Their numbers must start at 1 without gaps, so that a missing file is noticed. */
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

function isCompatible(text: string, file: string): boolean {
  const [first = '', ...rest] = text.split('\n');
  const misplaced = [COMPATIBLE.test(first) ? '' : first, ...rest].find((line) => /^--\s*compatible\b/i.test(line));
  if (misplaced !== undefined)
    throw new Error(`"${misplaced}" in ${file}: "-- compatible: older code" may only be the first line`);
  return COMPATIBLE.test(first);
}

export type Step =
  | { kind: 'transaction'; text: string }
  /** Indexes that are created outside a transaction, while rows are being written. */
  | { kind: 'concurrently'; indexes: readonly { name: string; text: string }[] }
  /** One statement that is repeated until it changes no row. Each run is a transaction of its own. */
  | { kind: 'fill'; name: string; text: string };

const MARK = /^-- (?:(then)|(concurrently)|fill: ([a-z0-9]+(?:-[a-z0-9]+)*))\s*$/;
const INDEX = /^create (?:unique )?index concurrently (?:if not exists )?([a-z_][a-z0-9_]*) on /i;

/**
 * Splits a migration into steps. Without marks it is one transaction. A line `-- concurrently` begins a step that creates indexes, `--
 * fill: NAME` one that fills rows in batches, and `-- then` another transaction.
 */
export function readSteps(text: string): Step[] {
  const parts: { mark: RegExpExecArray | null; lines: string[] }[] = [{ mark: null, lines: [] }];
  for (const line of text.split('\n')) {
    const mark = MARK.exec(line);
    if (mark !== null) parts.push({ mark, lines: [] });
    else if (/^--\s*(?:fill\b.*:|concurrently\s*$)/i.test(line))
      throw new Error(`"${line}" is not a valid step mark of a migration`);
    else parts.at(-1)?.lines.push(line);
  }
  if (parts.length === 1) return [{ kind: 'transaction', text }];
  return parts.flatMap(({ mark, lines }) => {
    const part = lines.join('\n');
    const statements = splitStatements(part);
    if (statements.length === 0 && mark === null) return [];
    return [readStep(mark, part, statements)];
  });
}

function readStep(mark: RegExpExecArray | null, text: string, statements: readonly string[]): Step {
  const [, , concurrently, fill] = mark ?? [];
  if (fill !== undefined) {
    const [statement] = statements;
    if (statement === undefined || statements.length > 1) throw new Error(`fill ${fill} must be one statement`);
    return { kind: 'fill', name: fill, text: statement };
  }
  if (concurrently === undefined) return { kind: 'transaction', text };
  const indexes = statements.map((statement) => {
    const name = INDEX.exec(statement)?.[1];
    if (name === undefined) throw new Error(`"create index concurrently NAME on ..." is expected, not: ${statement}`);
    return { name, text: statement };
  });
  return { kind: 'concurrently', indexes };
}

/** Matches a comment, quoted text, function body, word, run of spaces, or any other single character. */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$[A-Za-z_]*\$)[\s\S]*?\1|[A-Za-z_$][\w$]*|\s+|[\s\S]/g;

/** Returns the statements of a text, each on one line and without comments. Keeps quoted text and function bodies unchanged. */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let current = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token.startsWith('--') || token.startsWith('/*') || /^\s/.test(token)) current += ' ';
    else if (token === ';') {
      statements.push(current);
      current = '';
    } else current += token;
  }
  return [...statements, current].map(collapseSpaces).filter((statement) => statement !== '');
}

/** Collapses each run of spaces outside of quotes and function bodies into one space. */
function collapseSpaces(text: string): string {
  let line = '';
  for (const [token] of text.matchAll(TOKEN)) line += /^\s/.test(token) ? ' ' : token;
  return line.replaceAll(/^ +| +$/g, '');
}
