import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import type { Cli } from './cli.ts';
import { foreignLine, holdsSecret } from './printable.ts';
import { proposeKeywords } from './propose-keywords.ts';
import { asText, readNamed } from './read-values.ts';

interface About {
  title: string;
  description: string;
  tags?: readonly string[] | undefined;
  keywords?: readonly string[] | undefined;
}

/**
 * Returns the keywords for goods whose seller named none. At a terminal the seller sees the proposals and decides, because they come from
 * hidden goods and become public. Without proposals or consent the member is missing, so that the body is the same as without this step.
 */
export async function chooseKeywords(
  { options, terminal, note }: Cli,
  files: readonly string[],
  { title, description, tags = [], keywords }: About,
): Promise<{ keywords?: string[] }> {
  const mayAsk = terminal.canAsk && options.json !== true;
  const isAsked = options['suggest-keywords'] === true;
  if (keywords !== undefined || !(mayAsk || isAsked)) return {};
  const texts = await readGuides(files);
  const proposed = proposeKeywords(texts, [title, description, ...tags]).filter((word) => !holdsSecret(word));
  if (proposed.length === 0) {
    if (isAsked) note('The goods suggest no keywords.');
    return {};
  }
  note(foreignLine(`Public keywords, from the goods: ${proposed.join(', ')}`));
  const chosen = isAsked ? proposed : readTyped(await terminal.ask(QUESTION), proposed);
  return chosen.length === 0 ? {} : { keywords: chosen };
}

const QUESTION = 'Press Enter to use them, type others separated by commas, or type - for none:';

function readTyped(typed: string, proposed: readonly string[]): string[] {
  if (typed === '') return [...proposed];
  if (typed === '-') return [];
  return typed
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

const GUIDE_NAME = /^(?:skill|readme)(?:\.(?:md|markdown|txt))?$/i;
const TEXT_TYPES: ReadonlySet<string> = new Set(['', '.md', '.markdown', '.txt']);
const MOST_GUIDES = 20;
const MOST_GUIDE_BYTES = 262_144;

/** Reads the texts that explain the goods: a single text file, or SKILL.md and README files of a folder. */
async function readGuides(files: readonly string[]): Promise<string[]> {
  const named = files.length === 1 ? files.filter(isTextFile) : files.filter((path) => GUIDE_NAME.test(basename(path)));
  const texts: string[] = [];
  for (const path of named.slice(0, MOST_GUIDES)) {
    if ((await stat(path)).size > MOST_GUIDE_BYTES) continue;
    const text = asText((await readNamed(path, MOST_GUIDE_BYTES)).bytes);
    if (text !== null) texts.push(text);
  }
  return texts;
}

function isTextFile(path: string): boolean {
  return TEXT_TYPES.has(extname(path).toLowerCase());
}
