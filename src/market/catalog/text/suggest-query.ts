import { bitsOf } from '../sets/matches.ts';
import { type ParsedQuery, parseQuery, type QueryTerm } from './parse-query.ts';
import { stemOf } from './stem-table.ts';
import type { TextState } from './text-state.ts';
import { FIRST_WORD } from './tokens.ts';
import { letterMask, type WordTable, wordsLike } from './word-table.ts';

/** One wanted word of the query, or an excluded term that stays as it is. */
interface Slot {
  readonly text: string;
  readonly listings: number;
  readonly isFixed: boolean;
}

const CANDIDATES = 10;
/** Limited, because finding near words scans all words of the market. */
const MOST_CORRECTED = 4;
const MOST_TRIES = 40;
const LONGEST_QUERY = 100;

/** Finds a similar spelling that matches something, or null. Phrases become plain words, which can be tested without building sets. */
export function suggestQuery(
  state: TextState,
  query: ParsedQuery,
  matches: (query: ParsedQuery) => boolean,
): string | null {
  const slots = query.terms.flatMap((term) => slotsOf(state, term));
  const order = slots.flatMap((slot, index) => (slot.isFixed ? [] : [index])).sort((a, b) => rankOf(slots, a, b));
  const unknownIndexes = order.filter((index) => slots[index]?.listings === 0);
  if (unknownIndexes.length > MOST_CORRECTED) return null;
  const near = new Map(
    order
      .slice(0, MOST_CORRECTED)
      .map((index) => [index, nearWords(state.words, slots[index]?.text ?? '', CANDIDATES)]),
  );
  const words = slots.map((slot, index) =>
    unknownIndexes.includes(index) ? (near.get(index)?.[0] ?? null) : slot.text,
  );
  if (words.includes(null)) return null;
  const best = words.flatMap((word) => word ?? []);
  let tries = 0;
  for (const attempt of spellings(best, near)) {
    const text = attempt.join(' ');
    // The space ends the last word, so that it is tested as a whole word. If it matches as a whole word, it also matches as a beginning.
    const tested = parseQuery(`${text} `);
    if (text.length > LONGEST_QUERY || parseQuery(text).key === query.key) continue;
    if (matches(tested)) return text;
    tries += 1;
    if (tries === MOST_TRIES) return null;
  }
  return null;
}

/** Yields the best guess for all unknown words, then each word in turn with other spellings. */
function* spellings(
  best: readonly string[],
  near: ReadonlyMap<number, readonly string[]>,
): Generator<readonly string[]> {
  yield best;
  for (const [index, candidates] of near) {
    for (const candidate of candidates) yield best.with(index, candidate);
  }
}

function slotsOf(state: TextState, term: QueryTerm): Slot[] {
  if (term.excluded) {
    const text = term.kind === 'phrase' ? `-"${term.words.join(' ')}"` : `-${term.words.join(' ')}`;
    return [{ text, listings: 0, isFixed: true }];
  }
  return term.words.map((text) => ({ text, listings: listingsWith(state, text, term.kind), isFixed: false }));
}

/** Estimates how many listings have the word. 0 only if none has it. */
function listingsWith(state: TextState, word: string, kind: QueryTerm['kind']): number {
  const stem = state.stems.ids.get(stemOf(word));
  const listings = stem === undefined ? 0 : (state.stems.postings[stem]?.count ?? 0);
  if (listings > 0 || kind !== 'beginning') return listings;
  const { texts } = state.words;
  return wordsLike(state.words, word).some((other) => (texts[other] ?? '').startsWith(word)) ? 1 : 0;
}

function rankOf(slots: readonly Slot[], a: number, b: number): number {
  return (slots[a]?.listings ?? 0) - (slots[b]?.listings ?? 0) || a - b;
}

/** Finds words of live listings spelled almost like this one: nearest first, then most used, then alphabetical. */
export function nearWords(table: WordTable, word: string, limit: number): string[] {
  if (word.length < 2) return [];
  const most = word.length <= 4 ? 1 : 2;
  const { masks, listings, texts } = table;
  const mask = letterMask(word);
  const near: { text: string; distance: number; listings: number }[] = [];
  for (let id = FIRST_WORD; id < texts.length; id += 1) {
    // One edit changes at most two bits of the mask, which rules out nearly all words without comparing them.
    if (bitsOf((masks[id] as number) ^ mask) > most * 2 || listings[id] === 0) continue;
    const text = texts[id] ?? '';
    if (Math.abs(text.length - word.length) > most || text === word) continue;
    const distance = spellingDistance(word, text, most);
    if (distance <= most) near.push({ text, distance, listings: listings[id] as number });
  }
  near.sort((a, b) => a.distance - b.distance || b.listings - a.listings || (a.text < b.text ? -1 : 1));
  return near.slice(0, limit).map(({ text }) => text);
}

let older = new Uint8Array(80);
let above = new Uint8Array(80);
let row = new Uint8Array(80);

/** Returns the number of edits and swaps, or `most` + 1 if there are more. Reads only cells near the diagonal. For up to 64 characters. */
export function spellingDistance(from: string, to: string, most: number): number {
  const beyond = most + 1;
  if (Math.abs(from.length - to.length) > most) return beyond;
  for (let column = 0; column <= to.length; column += 1) above[column] = Math.min(column, beyond);
  for (let line = 1; line <= from.length; line += 1) {
    if (!fillRow(from, to, line, most)) return beyond;
    const spare = older;
    older = above;
    above = row;
    row = spare;
  }
  return Math.min(above[to.length] as number, beyond);
}

/** Returns false if no cell of the row is within `most`. */
function fillRow(from: string, to: string, line: number, most: number): boolean {
  const beyond = most + 1;
  const first = Math.max(1, line - most);
  const last = Math.min(to.length, line + most);
  const code = from.charCodeAt(line - 1);
  row[first - 1] = first === 1 ? Math.min(line, beyond) : beyond;
  let best = row[first - 1] as number;
  for (let column = first; column <= last; column += 1) {
    const other = to.charCodeAt(column - 1);
    let cell = (above[column - 1] as number) + (code === other ? 0 : 1);
    cell = Math.min(cell, (above[column] as number) + 1, (row[column - 1] as number) + 1);
    const isSwap = line > 1 && column > 1 && code === to.charCodeAt(column - 2) && from.charCodeAt(line - 2) === other;
    if (isSwap) cell = Math.min(cell, (older[column - 2] as number) + 1);
    row[column] = cell;
    if (cell < best) best = cell;
  }
  // The next row reads one cell further.
  row[last + 1] = beyond;
  return best <= most;
}
