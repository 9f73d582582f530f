import { isIdeograph, tokenize } from './tokenize.ts';
import { SHORTEST_BEGINNING } from './word-table.ts';

/**
 * A `word` matches in any form, a `beginning` also any word that starts with it, and a `phrase` exactly these words in a row in one field.
 */
export interface QueryTerm {
  readonly kind: 'word' | 'beginning' | 'phrase';
  readonly words: readonly string[];
  readonly excluded: boolean;
}

export interface ParsedQuery {
  /** Equal for queries that differ only in case, accents, punctuation, order or repetition. */
  readonly key: string;
  /** In typed order, without repetitions. */
  readonly terms: readonly QueryTerm[];
}

const BLANK = /\s/;
/** The quotation marks that keyboards and word processors insert for a plain one. */
const QUOTES = /[\u201c-\u201f\u00ab\u00bb\uff02]/g;

/** Parses what a person or program typed. No query is invalid: meaningless parts are skipped. */
export function parseQuery(q: string): ParsedQuery {
  const text = q.replace(QUOTES, '"');
  const terms = new Map<string, QueryTerm>();
  const add = (term: QueryTerm): void => {
    const key = termKey(term);
    if (!terms.has(key)) terms.set(key, term);
  };
  let at = 0;
  while (at < text.length) {
    if (BLANK.test(text.charAt(at))) {
      at += 1;
      continue;
    }
    let start = at;
    if (at === 0 || BLANK.test(text.charAt(at - 1))) while (text.charAt(start) === '-') start += 1;
    const excluded = start > at;
    if (text.charAt(start) === '"') {
      const close = text.indexOf('"', start + 1);
      const end = close < 0 ? text.length : close;
      addPhrase(tokenize(text.slice(start + 1, end)), excluded, add);
      at = end + 1;
    } else {
      at = endOfChunk(text, start);
      const chunk = text.slice(start, at);
      if (excluded) addExcluded(chunk, add);
      else addWords(chunk, at === text.length, add);
    }
  }
  return { key: [...terms.keys()].sort().join(' '), terms: [...terms.values()] };
}

function termKey(term: QueryTerm): string {
  const sign = term.excluded ? '-' : '';
  if (term.kind === 'phrase') return `${sign}"${term.words.join(' ')}"`;
  return `${sign}${term.words.join(' ')}${term.kind === 'beginning' ? '*' : ''}`;
}

function endOfChunk(text: string, start: number): number {
  let end = start;
  while (end < text.length && text.charAt(end) !== '"' && !BLANK.test(text.charAt(end))) end += 1;
  return end;
}

function addPhrase(words: readonly string[], excluded: boolean, add: (term: QueryTerm) => void): void {
  if (words.length > 0) add({ kind: 'phrase', words, excluded });
}

/** `-e-mail` excludes listings with both words in a row, not every listing that has an e. */
function addExcluded(chunk: string, add: (term: QueryTerm) => void): void {
  const words = tokenize(chunk);
  if (words.length === 1) add({ kind: 'word', words, excluded: true });
  else addPhrase(words, true, add);
}

function addWords(chunk: string, isLast: boolean, add: (term: QueryTerm) => void): void {
  const words = tokenize(chunk);
  const open = isLast && words.length > 0 && tokenize(`${chunk}x`).length === words.length;
  let index = 0;
  while (index < words.length) {
    const word = words[index] ?? '';
    let end = index + 1;
    if (isIdeograph(word)) while (end < words.length && isIdeograph(words[end] ?? '')) end += 1;
    if (end > index + 1) add({ kind: 'phrase', words: words.slice(index, end), excluded: false });
    else if (open && end === words.length && [...word].length >= SHORTEST_BEGINNING) {
      add({ kind: 'beginning', words: [word], excluded: false });
    } else add({ kind: 'word', words: [word], excluded: false });
    index = end;
  }
}
