import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { COMMAND_GROUPS } from './commands.ts';
import { commandTable } from './help.ts';

const BEGIN = '<!-- written by npm run docs -->\n';
const END = '\n<!-- end -->';

/** Replaces the table of commands in the text of docs/cli.md. */
export function withCommandTable(text: string): string {
  const [before, rest] = text.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error('docs/cli.md lacks the markers around the table of commands');
  return `${before}${BEGIN}${commandTable(COMMAND_GROUPS)}${END}${after}`;
}

// Write only if run as a program, not if imported.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = new URL('../../docs/cli.md', import.meta.url);
  await writeFile(file, withCommandTable(await readFile(file, 'utf8')));
}
