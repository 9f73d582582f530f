import { bitsOf } from '../sets/matches.ts';
import { isStopWord } from './stop-words.ts';
import type { TextState } from './text-state.ts';
import { isPair } from './tokenize.ts';
import { FIRST_WORD } from './tokens.ts';
import { letterMask, type WordTable, wordId } from './word-table.ts';

/** Shorter words differ from many others by one letter. */
const SHORTEST_CORRECTED = 4;
const SHORTEST_IN_TITLE = 3;
const TWO_EDITS_FROM = 8;
const SHORTEST_PART = 3;
const LETTERS_AND_NUMBER = /^(\p{L}{2,})(\d+)$/u;
const LETTERS_ONLY = /^[\p{L}\p{M}]+$/u;

/** Spellings as near as the nearest, of which the most used are kept. */
const MAX_CANDIDATES = 5;

/**
 * Returns what a word that no listing has may have been meant to be: the nearest spellings, or else two words that it joins, with a space
 * between them. Empty if there is neither. Digits are never changed, since one digit makes another version or year.
 */
export function correctWord(state: TextState, word: string): readonly string[] {
  const [, letters, digits] = LETTERS_AND_NUMBER.exec(word) ?? [];
  if (letters !== undefined && digits !== undefined) return splitNumber(state, letters, digits);
  if (word.length < SHORTEST_IN_TITLE || !LETTERS_ONLY.test(word) || isPair(word)) return [];
  const nearest = nearestWords(state.words, word);
  if (nearest.length > 0) return nearest;
  const split = splitWord(state, word);
  return split === null ? [] : [split];
}

/** `python3` is searched as `python 3`, or as `python` if no listing has that number. */
function splitNumber({ words }: TextState, letters: string, digits: string): readonly string[] {
  if (wordId(words, letters) === 0) return [];
  return [wordId(words, digits) === 0 ? letters : `${letters} ${digits}`];
}

export function isTooShort(word: string): boolean {
  return word.length < SHORTEST_CORRECTED;
}

/**
 * Finds the words of live listings with the fewest edits: 1, or up to 2 in long words. Those with the same letters come first, since people
 * swap or double letters more often than they take another one; then the most used, then by alphabet.
 */
export function nearestWords(table: WordTable, word: string): readonly string[] {
  let most = word.length < TWO_EDITS_FROM ? 1 : 2;
  const { masks, listings, texts } = table;
  const mask = letterMask(word);
  let nearest: { text: string; listings: number; letters: number }[] = [];
  for (let id = FIRST_WORD; id < texts.length; id += 1) {
    // One edit changes at most two bits of the mask, which rules out nearly all words without comparing them.
    if (bitsOf((masks[id] as number) ^ mask) > most * 2 || listings[id] === 0) continue;
    const text = texts[id] as string;
    if (Math.abs(text.length - word.length) > most || text === word) continue;
    const distance = spellingDistance(word, text, most);
    if (distance > most) continue;
    if (distance < most) nearest = [];
    most = distance;
    nearest.push({ text, listings: listings[id] as number, letters: bitsOf((masks[id] as number) ^ mask) });
  }
  nearest.sort((a, b) => a.letters - b.letters || b.listings - a.listings || (a.text < b.text ? -1 : 1));
  return nearest.slice(0, MAX_CANDIDATES).map(({ text }) => text);
}

/** Splits a word into two that listings have; of several ways, the one whose rarer word is most used. */
function splitWord({ words }: TextState, word: string): string | null {
  let best: { text: string; listings: number } | null = null;
  for (let at = SHORTEST_PART; at <= word.length - SHORTEST_PART; at += 1) {
    const parts = [word.slice(0, at), word.slice(at)];
    if (parts.some(isStopWord)) continue;
    const listings = Math.min(...parts.map((part) => words.listings[wordId(words, part)] ?? 0));
    if (listings > (best?.listings ?? 0)) best = { text: parts.join(' '), listings };
  }
  return best?.text ?? null;
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
