/** Keys of a skill's front matter that a listing takes. Missing ones are empty. */
export interface FrontMatter {
  name: string;
  description: string;
  tags: readonly string[];
}

export interface Skill {
  front: FrontMatter;
  /** Text after the front matter. */
  body: string;
}

const FENCED = /^\s*---[ \t]*\n([\s\S]*?\n)?---[ \t]*(?:\n|$)/;
const KEY = /^([\w.-]+):(?:[ \t]+(.*))?$/;
const BLOCK = /^[|>][-+\d]*(?:\s+#.*)?$/;

/**
 * Reads the text of a SKILL.md. Accepts more than YAML does, because many front matters are not valid YAML (a colon in an unquoted
 * description), and a parser would refuse them whole.
 */
export function readSkill(source: string): Skill {
  const text = source.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  const fenced = FENCED.exec(text);
  const lines = linesByKey(fenced?.[1] ?? '');
  const front = {
    name: readScalar(lines.get('name') ?? []),
    description: readScalar(lines.get('description') ?? []),
    tags: readList(lines.get('tags') ?? []),
  };
  return { front, body: text.slice(fenced?.[0].length ?? 0).trim() };
}

/** Returns for each key the rest of its line, and the lines that follow up to the next key. */
function linesByKey(block: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of block.split('\n')) {
    const [, key, value = ''] = KEY.exec(line) ?? [];
    if (key === undefined) {
      current.push(line);
      continue;
    }
    current = [value.trim()];
    found.set(key, current);
  }
  return found;
}

function readScalar(lines: readonly string[]): string {
  const [first = '', ...rest] = lines;
  if (BLOCK.test(first)) return readBlock(rest, first.startsWith('>'));
  const filled = lines.map((line) => line.trim()).filter((line) => line !== '');
  if (/^["']/.test(filled[0] ?? '')) return unquote(filled.join(' ')).trim();
  const plain = filled.map((line) => line.replace(/(?:^|\s)#.*$/, '').trim()).filter((line) => line !== '');
  const text = plain.join(' ');
  return text === '~' || text === 'null' ? '' : text;
}

/** Reads the lines of a block. In a folded one, a line break is a space and an empty line is a line break. */
function readBlock(lines: readonly string[], folded: boolean): string {
  const indent = /^ */.exec(lines.find((line) => line.trim() !== '') ?? '')?.[0].length ?? 0;
  const text = lines
    .map((line) => line.slice(indent).trimEnd())
    .join('\n')
    .trim();
  return folded ? text.replaceAll(/\n(\n*)/g, (_, more: string) => (more === '' ? ' ' : more)) : text;
}

function unquote(text: string): string {
  if (text.startsWith("'")) return (/^'((?:[^']|'')*)'/.exec(text)?.[1] ?? text.slice(1)).replaceAll("''", "'");
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(1);
  try {
    return String(JSON.parse(`"${quoted}"`));
  } catch {
    return quoted.replaceAll(/\\(.)/g, '$1');
  }
}

/** Reads a list in brackets, a list with a line for each item, or items between commas. */
function readList(lines: readonly string[]): string[] {
  const filled = lines.map((line) => line.trim()).filter((line) => line !== '');
  const items = filled.every((line) => line.startsWith('- '))
    ? filled.map((line) => line.slice(2))
    : filled
        .join(' ')
        .replaceAll(/^\[|\]$/g, '')
        .split(',');
  return items.map((item) => readScalar([item.trim()])).filter((item) => item !== '');
}
