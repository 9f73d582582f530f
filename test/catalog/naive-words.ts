import { NAMES } from '../../src/market/catalog/text/abbreviations.ts';
import { stemOf } from '../../src/market/catalog/text/stem.ts';
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
