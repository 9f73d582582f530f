import { isStopWord } from '../../src/market/catalog/text/stop-words.ts';
import type { NaiveWords } from './naive-words.ts';

/** Returns the five most used of the nearest spellings of a word that no listing has, or else two words that it joins. */
export function correctNaively(texts: readonly NaiveWords[], word: string): string[] {
  const [, letters = '', digits = ''] = /^(\p{L}{2,})(\d+)$/u.exec(word) ?? [];
  const isHeld = (one: string): boolean => texts.some(({ runs }) => runs.some(({ words }) => words.includes(one)));
  if (digits !== '') return isHeld(letters) ? [isHeld(digits) ? `${letters} ${digits}` : letters] : [];
  if (word.length < 3 || !/^[\p{L}\p{M}]+$/u.test(word)) return [];
  const listings = new Map<string, number>();
  for (const { runs } of texts) {
    for (const held of new Set(runs.flatMap(({ words }) => words))) listings.set(held, (listings.get(held) ?? 0) + 1);
  }
  const near = [...listings]
    .map(([text, count]) => ({ text, count, edits: editsBetween(word, text), others: otherLetters(word, text) }))
    .filter(({ edits }) => edits <= (word.length < 8 ? 1 : 2))
    .sort((a, b) => a.edits - b.edits || a.others - b.others || b.count - a.count || (a.text < b.text ? -1 : 1));
  const nearest = near.filter(({ edits }) => edits === near[0]?.edits);
  if (nearest.length > 0) return nearest.slice(0, 5).map(({ text }) => text);
  const splits: { text: string; count: number }[] = [];
  for (let at = 3; at <= word.length - 3; at += 1) {
    const parts = [word.slice(0, at), word.slice(at)];
    const count = parts.some(isStopWord) ? 0 : Math.min(...parts.map((part) => listings.get(part) ?? 0));
    if (count > 0) splits.push({ text: parts.join(' '), count });
  }
  return splits
    .toSorted((a, b) => b.count - a.count)
    .slice(0, 1)
    .map(({ text }) => text);
}

const BITS = Array.from({ length: 32 }, (_, bit) => bit);

/** Counts letters that only one of the words has. Those whose last five bits are equal count as one letter. */
function otherLetters(one: string, other: string): number {
  const has = (word: string, bit: number): boolean => [...word].some((letter) => (letter.charCodeAt(0) & 31) === bit);
  return BITS.filter((bit) => has(one, bit) !== has(other, bit)).length;
}

/** Counts letters to insert, delete or replace, and swaps of neighbors. */
function editsBetween(from: string, to: string): number {
  const table = Array.from({ length: from.length + 1 }, (_, line) => [line]);
  const cell = (line: number, column: number): number => table[line]?.[column] ?? column;
  for (let column = 1; column <= to.length; column += 1) {
    (table[0] as number[])[column] = column;
    for (let line = 1; line <= from.length; line += 1) {
      const isSame = from[line - 1] === to[column - 1];
      const isSwap = from[line - 1] === to[column - 2] && from[line - 2] === to[column - 1] && line > 1 && column > 1;
      (table[line] as number[])[column] = Math.min(
        cell(line - 1, column) + 1,
        cell(line, column - 1) + 1,
        cell(line - 1, column - 1) + (isSame ? 0 : 1),
        isSwap ? cell(line - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return cell(from.length, to.length);
}
