import { bitsOf } from '../sets/matches.ts';
import { FIRST_WORD } from './token-codec.ts';
import { letterMask, type WordTable } from './word-table.ts';

/** Words of live listings that are spelled nearly like this one: nearest first, then the most used, then by the alphabet. */
export function nearWords(table: WordTable, word: string, limit: number): string[] {
  if (word.length < 2) return [];
  const most = word.length <= 4 ? 1 : 2;
  const { masks, listings, texts } = table;
  const mask = letterMask(word);
  const found: { text: string; distance: number; listings: number }[] = [];
  for (let id = FIRST_WORD; id < texts.length; id += 1) {
    // One change alters at most two letters of the mask, which sorts out nearly all words without a look at them.
    if (bitsOf((masks[id] as number) ^ mask) > most * 2 || listings[id] === 0) continue;
    const text = texts[id] ?? '';
    if (Math.abs(text.length - word.length) > most || text === word) continue;
    const distance = spellingDistance(word, text, most);
    if (distance <= most) found.push({ text, distance, listings: listings[id] as number });
  }
  found.sort((a, b) => a.distance - b.distance || b.listings - a.listings || (a.text < b.text ? -1 : 1));
  return found.slice(0, limit).map(({ text }) => text);
}

let older = new Uint8Array(80);
let above = new Uint8Array(80);
let row = new Uint8Array(80);

/**
 * How many letters have to be added, left out, replaced or swapped with their neighbour; more than `most` when it is more than that.
 * Only cells near the diagonal can matter, so no more are looked at. For words of at most 64 characters.
 */
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

/** False when no cell of the row is within `most`. */
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
  // The next row looks one cell further.
  row[last + 1] = beyond;
  return best <= most;
}
