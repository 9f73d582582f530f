/**
 * Accents, vowel points and the like: what people leave out when they type. Marks of other scripts (Devanagari vowels, the voicing
 * of kana) change the word and stay.
 */
const ACCENTS =
  /[[\p{M}&&[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]]--[\u3099\u309a]]/gv;

/** Letters without a decomposition that people type as others. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ς: 'σ',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
};

const SPECIAL = /[ßςæœøłđðþħı]/g;

/** The form in which text outside ASCII is compared: compatibility forms, case and accents folded. Folding twice changes nothing. */
export function fold(text: string): string {
  const bare = text.normalize('NFKD').toLowerCase().replace(ACCENTS, '');
  // Composed again, as what is left of the marks belongs to its letter, and a Korean syllable is one character.
  return bare.replace(SPECIAL, (letter) => LETTERS[letter] ?? letter).normalize('NFC');
}
