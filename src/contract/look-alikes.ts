/** Detects look-alike letters in names that strangers chose, using Unicode properties and small tables. */

/** Maps lowercase letters, most of them of other alphabets, to the Latin letters that they look like. */
export const LATIN_LOOKS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ а: 'a', α: 'a', ɑ: 'a', с: 'c', ϲ: 'c', ԁ: 'd', е: 'e', ε: 'e', ɡ: 'g', һ: 'h', і: 'i', ι: 'i', ı: 'i' },
    ...{ ј: 'j', κ: 'k', ո: 'n', о: 'o', ο: 'o', օ: 'o', р: 'p', ρ: 'p', ѕ: 's', τ: 't', υ: 'u', ս: 'u', ν: 'v' },
    ...{ ѵ: 'v', ԝ: 'w', х: 'x', χ: 'x', у: 'y', ү: 'y', ӏ: 'l', г: 'r', п: 'n', η: 'n', ԛ: 'q', հ: 'h' },
  }),
);
/** Cyrillic, Greek and Armenian capitals that look Latin, although not all their lowercase letters do. */
const CAPITALS = new Set('АВЕЅІӀЈКМНОРСТУХҮԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧՏՕՍ');
/** Latin letters that look like Cyrillic or Greek letters. */
const FOREIGN_LOOKING = new Set('acehijkopsvxyABCEHIJKMNOPSTXYZ');

/** Alphabets with letters that look like Latin ones. */
const FOREIGN = String.raw`\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Lisu}`;
const HAS_FOREIGN = new RegExp(`[${FOREIGN}]`, 'u');
const IS_FOREIGN = new RegExp(`^[${FOREIGN}]$`, 'u');
const IS_LATIN = /^\p{Script=Latin}$/u;
const IS_LOWERCASE_LATIN = /^(?=\p{Ll})\p{Script=Latin}$/u;
const IS_LOWERCASE_GREEK = /^(?=\p{Ll})\p{Script=Greek}$/u;
/** Alphabets whose letters nearly all look Latin. */
const LATIN_ALIKE = /^[\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]$/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LETTER = /\p{L}/gu;

/** Whether any letter belongs to an alphabet with Latin look-alikes. Too strict for titles, but right for names that must be trusted. */
export function hasForeignLetters(text: string): boolean {
  return HAS_FOREIGN.test(text);
}

interface Word {
  letters: readonly string[];
  latin: readonly string[];
  /** Letters of the alphabets in FOREIGN. */
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
 * Whether a text mixes look-alike letters of two scripts: within one word, as `Оpenaisle` with a Cyrillic first letter, or as whole words
 * that only look Latin in a Latin text. Mixtures that languages use are accepted: `USB-кабель`, `β-carotene`, `TNFα`.
 */
export function mixesLookAlikes(text: string): boolean {
  if (!HAS_FOREIGN.test(text)) return false;
  // Compare without marks, because ё looks like ë just as е looks like e.
  const words = (text.normalize('NFD').match(WORD) ?? []).map(wordOf);
  return words.some(isImitation) || hasDisguisedWord(words);
}

/**
 * Whether a Latin word contains disguised letters, or a foreign word contains Latin letters that look like its own. A word that is (or
 * looks) nearly all Latin counts as well, so that one genuinely foreign letter cannot hide the disguised ones. A foreign ending, as in
 * `iPhoneом`, is accepted.
 */
function isImitation({ letters, latin, foreign }: Word): boolean {
  if (latin.length === 0 || foreign.length === 0) return false;
  const disguised = letters.filter(
    (letter, at) => IS_FOREIGN.test(letter) && looksLatin(letter) && !isSymbol(letters, at),
  );
  const others = foreign.length - disguised.length;
  if (others === 0) return true;
  if (disguised.length > 0 && latin.length + disguised.length > 3 * others && alternatesScripts(letters)) return true;
  return foreign.length > 2 && latin.every((letter) => FOREIGN_LOOKING.has(letter));
}

/** Whether the word changes between Latin and other letters more than once. */
function alternatesScripts(letters: readonly string[]): boolean {
  const isScriptChange = (letter: string, at: number) =>
    at > 0 && IS_LATIN.test(letter) !== IS_LATIN.test(letters[at - 1] ?? '');
  return letters.filter(isScriptChange).length > 1;
}

function looksLatin(letter: string): boolean {
  return LATIN_LOOKS.has(letter) || CAPITALS.has(letter) || LATIN_ALIKE.test(letter);
}

/**
 * Whether a lowercase Greek letter is a scientific symbol (`NFκB`, `μm`) and not a disguised Latin one, which has lowercase Latin
 * neighbours in a word of at least three letters.
 */
function isSymbol(letters: readonly string[], at: number): boolean {
  const hasLowercaseNeighbour = [letters[at - 1], letters[at + 1]].some(
    (near) => near !== undefined && IS_LOWERCASE_LATIN.test(near),
  );
  return IS_LOWERCASE_GREEK.test(letters[at] ?? '') && !(hasLowercaseNeighbour && letters.length > 2);
}

/** Whether a whole word among Latin words only looks Latin, and no word shows that the text really uses another alphabet. */
function hasDisguisedWord(words: readonly Word[]): boolean {
  const isGenuine = ({ latin, foreign }: Word) => latin.length === 0 && foreign.some((letter) => !looksLatin(letter));
  if (words.some(isGenuine)) return false;
  return (
    words.some(({ latin }) => latin.length > 1) &&
    words.some(
      ({ letters, foreign }) =>
        foreign.length > 1 && foreign.length === letters.length && !foreign.some((letter) => LATIN_ALIKE.test(letter)),
    )
  );
}
