import { NAMES } from '../../src/market/catalog/text/abbreviations.ts';
import { stemOf } from '../../src/market/catalog/text/stem.ts';
import { isStopWord } from '../../src/market/catalog/text/stop-words.ts';
import { FIELD_WEIGHTS, termLevel } from '../../src/market/catalog/text/term-levels.ts';
import { tokenize } from '../../src/market/catalog/text/tokenize.ts';

/** Words of listings and their spellings, as simple as possible. Runs are words in a row: phrases do not cross their ends. */

export interface NaiveText {
  title: string;
  tags: readonly string[];
  keywords: readonly string[];
  merchant: string;
  description: string;
  preview: string;
}

export interface NaiveWords {
  /** Words of the title without other spellings. */
  title: ReadonlySet<string>;
  runs: readonly { field: number; words: readonly string[] }[];
}

export function wordsOfText(text: NaiveText): NaiveWords {
  const fields = [[text.title], text.tags, text.keywords, [text.merchant], [text.description], [text.preview]];
  const runs = fields.flatMap((parts, at) =>
    parts.flatMap((part) => {
      const spellings = [...new Set(otherSpellings(part).map(({ word }) => word))];
      return [tokenize(part), ...spellings.map((word) => [word])].map((words) => ({ field: at, words }));
    }),
  );
  return { title: new Set(tokenize(text.title)), runs };
}

/** Another spelling of neighboring words. */
export interface NaiveSpelling {
  word: string;
  words: readonly string[];
}

const TWO_LETTERS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' };

/** Returns short forms of names in the text, and words with umlauts as two letters, each with the words it stands for. */
export function otherSpellings(text: string): NaiveSpelling[] {
  const words = tokenize(text);
  const names = NAMES.flatMap(([short, ...wholes]) =>
    wholes
      .map((whole) => whole.split(' '))
      .filter((name) => words.some((_, at) => name.every((word, offset) => words[at + offset] === word)))
      .map((name) => ({ word: short, words: name })),
  );
  const spelled = text
    .toLowerCase()
    .normalize('NFC')
    .replace(/[äöüøå]/g, (letter) => TWO_LETTERS[letter] ?? letter);
  const pairs = tokenize(spelled).map((word, at) => ({ word, words: [words[at] ?? ''] }));
  return [...names, ...pairs.filter(({ word, words: [folded] }) => word !== folded)];
}

export function hasStem({ runs }: NaiveWords, stem: string): boolean {
  return runs.some(({ words }) => words.some((word) => stemOf(word) === stem));
}

export function hasBeginning({ runs }: NaiveWords, beginning: string): boolean {
  return runs.some(({ words }) => words.some((word) => word.startsWith(beginning)));
}

export function hasPhrase({ runs }: NaiveWords, phrase: readonly string[]): boolean {
  return runs.some(({ words }) => words.some((_, at) => phrase.every((word, offset) => words[at + offset] === word)));
}

const TAGS_AND_KEYWORDS = [1, 2];

/** Scores a stem in a listing from the listing's text alone. Repeating it in tags or keywords gains nothing. */
export function levelOfStem({ runs }: NaiveWords, stem: string): number {
  let weighted = 0;
  for (const [field, weight] of FIELD_WEIGHTS.entries()) {
    const words = runs.filter((run) => run.field === field).flatMap((run) => run.words);
    const count = words.filter((word) => stemOf(word) === stem).length;
    weighted += weight * (TAGS_AND_KEYWORDS.includes(field) ? Math.min(1, count) : count);
  }
  const length = runs.reduce((sum, { words }) => sum + words.length, 0);
  return weighted === 0 ? 0 : termLevel(weighted, length);
}

export function levelOfBeginning(text: NaiveWords, beginning: string): number {
  const words = text.runs.flatMap((run) => run.words).filter((word) => word.startsWith(beginning));
  const stems = new Set([beginning, ...words].map(stemOf));
  return Math.max(...[...stems].map((stem) => levelOfStem(text, stem)));
}

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
