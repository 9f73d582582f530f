/**
 * The looks of a text, for names that a stranger chose: titles, store lines, what a program calls itself. By properties of Unicode, and short
 * tables of our own for what these do not say.
 */

/** Letters of other alphabets that are drawn like these Latin ones, lower case. */
export const LATIN_LOOKS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ а: 'a', α: 'a', ɑ: 'a', с: 'c', ϲ: 'c', ԁ: 'd', е: 'e', ε: 'e', ɡ: 'g', һ: 'h', і: 'i', ι: 'i', ı: 'i' },
    ...{ ј: 'j', κ: 'k', ո: 'n', о: 'o', ο: 'o', օ: 'o', р: 'p', ρ: 'p', ѕ: 's', τ: 't', υ: 'u', ս: 'u', ν: 'v' },
    ...{ ѵ: 'v', ԝ: 'w', х: 'x', χ: 'x', у: 'y', ү: 'y', ӏ: 'l', г: 'r', п: 'n', η: 'n', ԛ: 'q', հ: 'h' },
  }),
);
/** Capitals that are, though their small letters are not all. Cyrillic, Greek, Armenian. */
const CAPITALS = new Set('АВЕЅІӀЈКМНОРСТУХҮԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧՏՕՍ');
/** Latin letters that are drawn like Cyrillic or Greek ones. */
const LOOK_FOREIGN = new Set('acehijkopsvxyABCEHIJKMNOPSTXYZ');

/** Alphabets with letters that look like Latin ones. */
const FOREIGN = String.raw`\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Lisu}`;
const HAS_FOREIGN = new RegExp(`[${FOREIGN}]`, 'u');
const IS_FOREIGN = new RegExp(`^[${FOREIGN}]$`, 'u');
const IS_LATIN = /^\p{Script=Latin}$/u;
const IS_SMALL_LATIN = /^(?=\p{Ll})\p{Script=Latin}$/u;
const IS_SMALL_GREEK = /^(?=\p{Ll})\p{Script=Greek}$/u;
/** Alphabets whose letters nearly all look Latin. */
const ALL_ALIKE = /^[\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]$/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LETTER = /\p{L}/gu;

/** Whether some letter is of an alphabet that has letters which look Latin: too strict for a title, right for a name that has to be trusted. */
export function hasForeignLetters(text: string): boolean {
  return HAS_FOREIGN.test(text);
}

interface Word {
  letters: readonly string[];
  latin: readonly string[];
  /** Letters of the alphabets above. */
  foreign: readonly string[];
}

function wordOf(word: string): Word {
  const letters = word.match(LETTER) ?? [];
  return {
    letters,
    latin: letters.filter((letter) => IS_LATIN.test(letter)),
    foreign: letters.filter((letter) => IS_FOREIGN.test(letter)),
  };
}

/**
 * Whether letters of two scripts that look alike stand side by side: in one word, as `Оpenaisle` with a Cyrillic first letter, or in words
 * of which some are Latin and the others could be read so. What languages mix by themselves is not meant: `USB-кабель`, `β-carotene`, `TNFα`.
 */
export function mixesLookAlikes(text: string): boolean {
  if (!HAS_FOREIGN.test(text)) return false;
  // Without their marks: ё looks like ë as е looks like e.
  const words = (text.normalize('NFD').match(WORD) ?? []).map(wordOf);
  return words.some(imitates) || hasDisguisedWord(words);
}

/**
 * A Latin word with letters in disguise, or a word of another alphabet with Latin letters in it that look like its own. Letters in disguise
 * among Latin ones suffice where nearly all of the word is or looks Latin: one letter that looks like none would otherwise hide the others. An
 * ending of another alphabet, as in `iPhoneом`, is not meant.
 */
function imitates({ letters, latin, foreign }: Word): boolean {
  if (latin.length === 0 || foreign.length === 0) return false;
  const disguised = letters.filter(
    (letter, at) => IS_FOREIGN.test(letter) && looksLatin(letter) && !isSymbol(letters, at),
  );
  const others = foreign.length - disguised.length;
  if (others === 0) return true;
  if (disguised.length > 0 && latin.length + disguised.length > 3 * others && alternates(letters)) return true;
  return foreign.length > 2 && latin.every((letter) => LOOK_FOREIGN.has(letter));
}

/** Whether letters of one kind, Latin or not, stand on both sides of letters of the other. */
function alternates(letters: readonly string[]): boolean {
  const isTurn = (letter: string, at: number) =>
    at > 0 && IS_LATIN.test(letter) !== IS_LATIN.test(letters[at - 1] ?? '');
  return letters.filter(isTurn).length > 1;
}

function looksLatin(letter: string): boolean {
  return LATIN_LOOKS.has(letter) || CAPITALS.has(letter) || ALL_ALIKE.test(letter);
}

/** A small Greek letter in science stands beside capitals, as in `NFκB`; in a disguise beside small letters. */
function isSymbol(letters: readonly string[], at: number): boolean {
  const isBesideSmall = [letters[at - 1], letters[at + 1]].some(
    (near) => near !== undefined && IS_SMALL_LATIN.test(near),
  );
  return IS_SMALL_GREEK.test(letters[at] ?? '') && !(isBesideSmall && letters.length > 2);
}

/** A Cyrillic, Greek or Armenian word that can be read as Latin, among Latin words, where no word tells that the text is in that alphabet. */
function hasDisguisedWord(words: readonly Word[]): boolean {
  const isGenuine = ({ latin, foreign }: Word) => latin.length === 0 && foreign.some((letter) => !looksLatin(letter));
  if (words.some(isGenuine)) return false;
  return (
    words.some(({ latin }) => latin.length > 1) &&
    words.some(
      ({ letters, foreign }) =>
        foreign.length > 1 && foreign.length === letters.length && !foreign.some((letter) => ALL_ALIKE.test(letter)),
    )
  );
}
