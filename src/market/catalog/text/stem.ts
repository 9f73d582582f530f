import { stemmer } from 'stemmer';
import { SAME_WORDS } from './abbreviations.ts';

const ENGLISH = /^[a-z]{3,}$/;

/** British endings and the American ones that stand for both. Words that this makes up, such as `enterprize`, stay apart from all others. */
const AMERICAN: readonly (readonly [british: RegExp, american: string])[] = [
  [/^(.{3,})is(e|ed|es|er|ers|ing|ation|ations|able)$/, '$1iz$2'],
  [/^(.{3,})ys(e|ed|es|er|ers|ing)$/, '$1yz$2'],
  [/^(.{3,})our(|s|ed|ing|er|ers|al|ally|ful|less|able|ite|ites|ist)$/, '$1or$2'],
  [/^(cent|theat|met|lit|fib|calib|meag|somb|spect)re(|s|d)$/, '$1er$2'],
  [/^(.{3,})ogue(|s|d|r)$/, '$1og$2'],
  [/^(licen|defen|offen|preten)ce(|s|d)$/, '$1se$2'],
  [/^(prac)tis(e|ed|es|ing)$/, '$1tic$2'],
];

const SPECIAL: Readonly<Record<string, string>> = {
  grey: 'gray',
  programme: 'program',
  programmes: 'programs',
  artefact: 'artifact',
  artefacts: 'artifacts',
  judgement: 'judgment',
  sceptical: 'skeptical',
  tyre: 'tire',
  tyres: 'tires',
  aluminium: 'aluminum',
};

/**
 * Returns the stem shared by the forms and spellings of a word: English endings, British and American spelling, and abbreviations for one
 * word. Other words are their own stem.
 */
export function stemOf(word: string): string {
  const whole = SAME_WORDS.get(word) ?? word;
  return ENGLISH.test(whole) ? stemmer(toAmerican(whole)) : whole;
}

function toAmerican(word: string): string {
  if (word.length < 5) return SPECIAL[word] ?? word;
  for (const [british, american] of AMERICAN) {
    if (british.test(word)) return word.replace(british, american);
  }
  return Object.hasOwn(SPECIAL, word) ? (SPECIAL[word] ?? word) : word;
}
