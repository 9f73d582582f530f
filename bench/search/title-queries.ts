import { type Dice, diceFor } from '../catalog/dice.ts';

/** Ways in which a title is asked for. */
export const SPELLINGS = ['exact', 'letter missing', 'letters swapped'] as const;
export type Spelling = (typeof SPELLINGS)[number];

export interface TitleQuery {
  title: string;
  queries: Readonly<Record<Spelling, string>>;
}

const LONG_WORD = /\p{Script=Latin}{4,}/gu;
const LONG_WORDS = 2;

/**
 * Draws titles with at least two long words. A seed always draws the same of the same titles. Skips titles that are longer than a query
 * may be, and titles whose words have no two different letters to swap. Returns fewer if there are not enough.
 */
export function drawTitleQueries(
  titles: readonly string[],
  { count, seed, limit }: { count: number; seed: number; limit: number },
): TitleQuery[] {
  const dice = diceFor(seed, 'titles');
  const left = [...new Set(titles)].filter((title) => title.length <= limit && wordsOf(title).length >= LONG_WORDS);
  const drawn: TitleQuery[] = [];
  while (drawn.length < count && left.length > 0) {
    const [title = ''] = left.splice(dice.int(left.length), 1);
    const missing = dropLetter(title, dice);
    const swapped = swapLetters(title, dice);
    if (missing === null || swapped === null) continue;
    drawn.push({ title, queries: { exact: title, 'letter missing': missing, 'letters swapped': swapped } });
  }
  return drawn;
}

interface Word {
  from: number;
  text: string;
}

function wordsOf(title: string): Word[] {
  return [...title.matchAll(LONG_WORD)].map(({ index, 0: text }) => ({ from: index, text }));
}

/** Leaves a letter out of a long word, never the first. Null if there is no long word. */
function dropLetter(title: string, dice: Dice): string | null {
  const words = wordsOf(title);
  if (words.length === 0) return null;
  const { from, text } = dice.pick(words);
  const at = from + 1 + dice.int(text.length - 1);
  return title.slice(0, at) + title.slice(at + 1);
}

/** Swaps two different neighbouring letters of a long word, never the first. Null if there are no such letters. */
function swapLetters(title: string, dice: Dice): string | null {
  const words = wordsOf(title)
    .map(({ from, text }) => ({ from, places: swappablePlaces(text) }))
    .filter(({ places }) => places.length > 0);
  if (words.length === 0) return null;
  const { from, places } = dice.pick(words);
  const at = from + dice.pick(places);
  return `${title.slice(0, at)}${title[at + 1]}${title[at]}${title.slice(at + 2)}`;
}

function swappablePlaces(word: string): number[] {
  return Array.from({ length: word.length - 2 }, (_, index) => index + 1).filter((at) => word[at] !== word[at + 1]);
}
