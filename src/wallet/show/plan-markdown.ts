import { lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { isSafeLink } from '../wording.ts';

/** The only tags in use. Markdown that needs another tag stays text. */
const TAGS = [
  ...(['p', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'em', 'strong'] as const),
  ...(['del', 'a', 'hr', 'br', 'table', 'thead', 'tbody', 'tr', 'th', 'td'] as const),
] as const;
export type Tag = (typeof TAGS)[number];

export type Piece = string | Planned;
export interface Planned {
  tag: Tag;
  children: readonly Piece[];
  /** Link target, which is http or https only. */
  href?: string;
  start?: number;
}

const LONGEST_TEXT = 65_536;
const MAX_DEPTH = 24;
const MAX_PIECES = 10_000;
/** Limit of marks, because emphasis that is never closed takes quadratic time. */
const MAX_MARKS_IN_A_ROW = 1_500;
const HEADINGS = ['h3', 'h4', 'h5', 'h6'] as const;

/** Parses Markdown into elements and text. Null if it is too long, too deep or has too many parts, so that it is shown as written. */
export function planMarkdown(text: string): Piece[] | null {
  if (text.length > LONGEST_TEXT || hasTooManyMarks(text)) return null;
  try {
    return createPlanner()(lexer(text), 0);
  } catch (error) {
    // Deeply nested quotes overflow the stack.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function hasTooManyMarks(text: string): boolean {
  return text.split(/\n[ \t]*\n/).some((block) => (block.match(/[*_~]+/g)?.length ?? 0) > MAX_MARKS_IN_A_ROW);
}

type Planner = (tokens: readonly Token[], depth: number) => Piece[];

function createPlanner(): Planner {
  let count = 0;
  const plan: Planner = (tokens, depth) => {
    if (depth > MAX_DEPTH) throw new RangeError('too deep');
    count += tokens.length;
    if (count > MAX_PIECES) throw new RangeError('too much');
    // Without extensions the parser returns no other tokens. If a newer version of it adds one, it is shown as text.
    return (tokens as readonly MarkedToken[]).flatMap((token) => planToken(token, (inner) => plan(inner, depth + 1)));
  };
  return plan;
}

type Inside = (tokens: readonly Token[]) => Piece[];

function planToken(token: MarkedToken, inside: Inside): Piece[] {
  switch (token.type) {
    case 'paragraph':
      return [{ tag: 'p', children: inside(token.tokens) }];
    case 'heading':
      return [{ tag: HEADINGS[token.depth - 1] ?? 'h6', children: inside(token.tokens) }];
    case 'blockquote':
    case 'em':
    case 'strong':
    case 'del':
      return [{ tag: token.type, children: inside(token.tokens) }];
    case 'list':
      return [planList(token, inside)];
    case 'table':
      return [planTable(token, inside)];
    case 'code':
      return [{ tag: 'pre', children: [{ tag: 'code', children: [token.text] }] }];
    case 'codespan':
      return [{ tag: 'code', children: [token.text] }];
    case 'hr':
    case 'br':
      return [{ tag: token.type, children: [] }];
    case 'link':
      return planLink(token.href, inside(token.tokens));
    case 'image':
      return planLink(token.href, [`Picture: ${token.text === '' ? token.href : token.text}`]);
    case 'checkbox':
      return [token.checked ? '[x] ' : '[ ] '];
    case 'text':
      return token.tokens === undefined ? [decodeEntities(token.text)] : inside(token.tokens);
    case 'escape':
      return [token.text];
    case 'space':
    case 'def':
      return [];
    default:
      // Everything else, HTML above all, is shown as text.
      return [token.raw];
  }
}

function planList({ ordered, start, items }: Tokens.List, inside: Inside): Planned {
  const children = items.map((item): Planned => ({ tag: 'li', children: inside(item.tokens) }));
  if (!ordered) return { tag: 'ul', children };
  return { tag: 'ol', children, ...(typeof start === 'number' && start !== 1 ? { start } : {}) };
}

function planTable({ header, rows }: Tokens.Table, inside: Inside): Planned {
  const row = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]): Planned => ({
    tag: 'tr',
    children: cells.map(({ tokens }) => ({ tag, children: inside(tokens) })),
  });
  return {
    tag: 'table',
    children: [
      { tag: 'thead', children: [row('th', header)] },
      { tag: 'tbody', children: rows.map((cells) => row('td', cells)) },
    ],
  };
}

/** Shows the host next to the link text, so that the reader sees where a link leads. */
function planLink(href: string, words: Piece[]): Piece[] {
  if (!isSafeLink(href)) return [...words, href === '' ? '' : ` (${href})`];
  const link: Planned = { tag: 'a', href, children: words };
  return words.length === 1 && words[0] === href ? [link] : [link, ` (${new URL(href).host})`];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' };

/** Decodes common entities. The result goes into the page as text, like everything else. */
function decodeEntities(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|nbsp);|&#39;/g, (_, name?: string) => ENTITIES[name ?? ''] ?? "'");
}
