export interface Tag {
  name: string;
  isEnd: boolean;
  attributes: ReadonlyMap<string, string>;
}

interface Markup {
  tags: Tag[];
  /** Text between the tags, with entities decoded. */
  text: string;
}

const NAME = /^[A-Za-z][^\s/>]*/;
const ATTRIBUTE = /^\s*([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', apos: "'" };

/** Reads markup as a browser's tokenizer would, as far as our pages need. Everything that looks like a tag counts as one. */
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
      // This is a doctype, declaration or comment, so skip to the next `>`.
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

/** Decodes in one pass, so that decoded text is not decoded again. */
function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(x[0-9a-f]+|\d+)|(lt|gt|quot|amp|apos));/gi, (_, code?: string, name?: string) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? '';
    const digits = code ?? '';
    return String.fromCodePoint(/^x/i.test(digits) ? Number.parseInt(digits.slice(1), 16) : Number(digits));
  });
}

const ELEMENTS = new Set(
  'html head meta title link script body a header div nav ul ol li main h1 h2 h3 p form label input button details summary select option svg g path rect line text desc table caption thead tbody tr th td figure figcaption bdi span strong time section dl dt dd code br footer q'.split(
    ' ',
  ),
);
const ATTRIBUTES = new Set(
  'lang charset name property content rel href type as crossorigin title src defer class aria-label aria-current aria-labelledby aria-describedby aria-hidden id tabindex role action method for value maxlength placeholder autocomplete autocapitalize spellcheck inputmode selected open viewbox d stroke-dasharray x y x1 x2 y1 y2 rx width height scope colspan dir datetime hidden data-copy data-live'.split(
    ' ',
  ),
);

/** Returns tags that our pages never contain: other elements or attributes, foreign scripts, and external links without the right `rel`. */
export function strangeTags(tags: readonly Tag[]): Tag[] {
  return tags.filter(({ name, isEnd, attributes }) => {
    if (isEnd) return false;
    if (!(ELEMENTS.has(name) || name === '!doctype')) return true;
    if ([...attributes.keys()].some((one) => !ATTRIBUTES.has(one))) return true;
    if (name === 'script' && !(attributes.get('src') ?? '').startsWith('/assets/')) return true;
    const href = attributes.get('href');
    if (name === 'link' && attributes.get('rel') === 'canonical') return !/^https?:\/\/[!-~]+$/.test(href ?? '');
    return href !== undefined && !/^[/#]/.test(href) && !leadsOutSafely(href, attributes.get('rel'));
  });
}

function leadsOutSafely(href: string, rel: string | undefined): boolean {
  return rel === 'nofollow ugc noopener' && /^https?:\/\/[!-~]+$/.test(href) && new URL(href).username === '';
}

/**
 * Lists the tags of a page with class and id, without those that merchants can cause: links to plain addresses and the market's notes on
 * look-alike letters. Two pages that differ only in text have the same skeleton.
 */
export function skeletonOf(tags: readonly Tag[]): string[] {
  const names: string[] = [];
  let isInOwnLink = true;
  let isInMark = false;
  for (const { name, isEnd, attributes } of withoutNotes(tags)) {
    // Merchant marks are drawn from a number, so each is different.
    if (name === 'svg') isInMark = !isEnd;
    if (isInMark) continue;
    if (name === 'a' && !isEnd) isInOwnLink = attributes.get('rel') !== 'nofollow ugc noopener';
    if (name === 'a' && !isInOwnLink) continue;
    const [id, kind] = [attributes.get('id'), attributes.get('class')];
    names.push(
      `${isEnd ? '/' : ''}${name}${id === undefined || /\d/.test(id) ? '' : `#${id}`}${kind === undefined ? '' : `.${kind}`}`,
    );
  }
  return names;
}

function withoutNotes(tags: readonly Tag[]): Tag[] {
  let noted: string | null = null;
  return tags.filter(({ name, isEnd, attributes }) => {
    if (attributes.get('class')?.endsWith(' noted') === true) noted = name;
    const isOfNote = noted !== null;
    if (isEnd && name === noted) noted = null;
    return !isOfNote;
  });
}

/** Returns the skeleton of each row of a list. */
export function rowsOf(tags: readonly Tag[], row: string): string[] {
  const names = skeletonOf(tags);
  const begins = names.flatMap((name, at) => (name === row ? [at] : []));
  return begins.map((at) => names.slice(at, names.indexOf('/li', at)).join(' '));
}
