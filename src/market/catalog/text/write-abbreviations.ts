import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { NAMES, SAME_WORDS } from './abbreviations.ts';

const BEGIN = '<!-- written by npm run docs -->\n';
const END = '<!-- end -->';

/** Replaces the tables of abbreviations in the text of docs/search.md. */
export function withAbbreviations(text: string): string {
  const [before, rest] = text.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error('docs/search.md lacks the markers around the tables of abbreviations');
  return `${before}${BEGIN}${abbreviationTables()}\n${END}${after}`;
}

function abbreviationTables(): string {
  const shorts = Map.groupBy(SAME_WORDS, ([, whole]) => whole);
  const words = [...shorts].map(([whole, pairs]) => [whole, ...pairs.map(([short]) => short)]);
  return [
    ...['| Word | Short forms |', '| --- | --- |', ...words.map(toRow)],
    ...['', '| Name | Written in words |', '| --- | --- |', ...NAMES.map(toRow)],
  ].join('\n');
}

function toRow([form = '', ...others]: readonly string[]): string {
  return `| \`${form}\` | ${others.map((other) => `\`${other}\``).join(', ')} |`;
}

// Write only if run as a program, not if imported.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = new URL('../../../../docs/search.md', import.meta.url);
  await writeFile(file, withAbbreviations(await readFile(file, 'utf8')));
}
