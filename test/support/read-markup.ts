export interface Tag {
  name: string;
  isEnd: boolean;
  attributes: ReadonlyMap<string, string>;
}

export interface Markup {
  tags: Tag[];
  /** What is between the tags, entities read. */
  text: string;
}

const NAME = /^[A-Za-z][^\s/>]*/;
const ATTRIBUTE = /^\s*([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', apos: "'" };

/** Reads markup as a browser's tokenizer does, as far as our own pages go: whatever begins like a tag is one. */
export function readMarkup(source: string): Markup {
  const tags: Tag[] = [];
  let text = '';
  let rest = source;
  while (rest !== '') {
    const open = rest.indexOf('<');
    if (open < 0) break;
    text += unescaped(rest.slice(0, open));
    rest = rest.slice(open + 1);
    const isEnd = rest.startsWith('/');
    if (isEnd) rest = rest.slice(1);
    const name = NAME.exec(rest)?.[0];
    if (name === undefined) {
      // Doctype, declaration or comment: to the next end.
      const close = rest.indexOf('>');
      tags.push({ name: rest.slice(0, Math.min(8, close)), isEnd: false, attributes: new Map() });
      rest = rest.slice(close + 1);
      continue;
    }
    const read = readAttributes(rest.slice(name.length));
    tags.push({ name: name.toLowerCase(), isEnd, attributes: read.attributes });
    rest = read.rest;
  }
  return { tags, text: text + unescaped(rest) };
}

function readAttributes(source: string): { attributes: Map<string, string>; rest: string } {
  const attributes = new Map<string, string>();
  let rest = source;
  for (;;) {
    const end = /^\s*\/?>/.exec(rest);
    if (end !== null) return { attributes, rest: rest.slice(end[0].length) };
    const found = ATTRIBUTE.exec(rest);
    if (found === null || rest === '') return { attributes, rest: rest.slice(1) };
    attributes.set((found[1] ?? '').toLowerCase(), unescaped(found[2] ?? found[3] ?? found[4] ?? ''));
    rest = rest.slice(found[0].length);
  }
}

/** In one go: what comes out of an entity is no part of another one. */
function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(x[0-9a-f]+|\d+)|(lt|gt|quot|amp|apos));/gi, (_, code?: string, name?: string) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? '';
    const digits = code ?? '';
    return String.fromCodePoint(/^x/i.test(digits) ? Number.parseInt(digits.slice(1), 16) : Number(digits));
  });
}
