import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { lexer } from 'marked';
import { tagsIn } from '../../src/contract/listing-fields.ts';
import { readSkill } from './front-matter.ts';
import { firstCharacters, makePublicText } from './public-text.ts';

/** A skill as a listing. */
export interface Item {
  /** `owner/repo:path` */
  id: string;
  owner: string;
  title: string;
  description: string;
  preview: string;
  tags: readonly string[];
}

export interface Corpus {
  items: readonly Item[];
  /** Skills that cannot be a listing, with the reason. */
  refused: readonly { id: string; why: string }[];
}

const FILE = 'SKILL.md';
const TITLE = { min: 3, max: 120 };
const DESCRIPTION = { min: 1, max: 4_000, multiline: true };
const PREVIEW = { min: 0, max: 4_000, multiline: true };
const PREVIEW_CHARACTERS = 2_000;

/** Reads a tree of skills `DIR/OWNER/REPO/...`. Each folder with a SKILL.md is an item. Does not follow links. */
export async function readCorpus(folder: string): Promise<Corpus> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const folders = entries
    .filter((entry) => entry.isFile() && entry.name === FILE)
    .map(({ parentPath }) => parentPath)
    .sort();
  const items: Item[] = [];
  const refused: { id: string; why: string }[] = [];
  for (const path of folders) {
    const [owner, repository, ...inside] = relative(folder, path).split(sep);
    if (owner === undefined || repository === undefined) {
      refused.push({ id: relative(folder, path), why: 'stands outside of OWNER/REPO' });
      continue;
    }
    const id = `${owner}/${repository}:${inside.join('/')}`;
    const made = makeItem(
      { id, owner, fallback: inside.at(-1) ?? repository },
      await readFile(join(path, FILE), 'utf8'),
    );
    if (typeof made === 'string') refused.push({ id, why: made });
    else items.push(made);
  }
  return { items, refused };
}

/** Makes an item of a SKILL.md, or says why it cannot be one. `fallback` is its title if the text has none. */
export function makeItem(
  { id, owner, fallback }: { id: string; owner: string; fallback: string },
  source: string,
): Item | string {
  const { front, body } = readSkill(source);
  const title = titleOf(front.name, body, fallback);
  if (title === null) return 'has no title of 3 characters';
  const description = makePublicText(front.description, DESCRIPTION) ?? title;
  const preview = makePublicText(firstCharacters(body, PREVIEW_CHARACTERS), PREVIEW);
  if (preview === null) return 'has a text that cannot be public';
  const tags = tagsIn.safeParse(front.tags);
  return { id, owner, title, description, preview, tags: tags.success ? tags.data : [] };
}

function titleOf(name: string, body: string, fallback: string): string | null {
  return makePublicText(name, TITLE) ?? makePublicText(firstHeading(body), TITLE) ?? makePublicText(fallback, TITLE);
}

/** Returns the first heading that begins with `#`. A line of dashes below text is no heading here: it ends a broken front matter. */
function firstHeading(body: string): string {
  const heading = lexer(body).find(({ type, raw }) => type === 'heading' && raw.startsWith('#'));
  return heading !== undefined && 'text' in heading ? String(heading.text) : '';
}
