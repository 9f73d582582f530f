import { stemmer } from 'stemmer';
import { SAME_WORDS } from './abbreviations.ts';

const ENGLISH = /^[a-z]{3,}$/;

/** British endings and the American ones that stand for both. */
const AMERICAN: readonly (readonly [british: RegExp, american: string])[] = [
  [/^practis(e|ed|es|ing)$/, 'practic$1'],
  [/^(.{3,})is(e|ed|es|er|ers|ing|ation|ations|able)$/, '$1iz$2'],
  [/^(.{3,})ys(e|ed|es|er|ers|ing)$/, '$1yz$2'],
  [/^(.{3,})ysis$/, '$1yze'],
  [/^(.{3,}|od)our(|s|ed|ing|er|ers|al|ally|ful|less|able|ite|ites|ist)$/, '$1or$2'],
  [/^(cent|theat|met|lit|fib|calib|meag|somb|spect)re(|s)$/, '$1er$2'],
  [/^(cent)red$/, '$1ered'],
  [/^(.{3,})ogue(|s)$/, '$1og$2'],
  [/^(.{3,})ogu(ed|ing|er|ers)$/, '$1og$2'],
  [/^(licen|defen|offen|preten)ce(|s|d)$/, '$1se$2'],
];
/** Words that end in `-ise` on both sides of the ocean, without the ending. */
const ISE_EVERYWHERE =
  /^(adv|advert|appra|appr|bru|chast|compr|comprom|conc|cru|dem|desp|dev|disgu|enterpr|exc|exerc|expert|franch|improv|inc|likew|merchand|otherw|parad|pra|prec|prem|prom|repr|rev|superv|surpr|telev|treat)is/;

/** Names that end in an s of their own. */
const NO_PLURALS: ReadonlySet<string> = new Set(['news', 'ios', 'macos', 'aws', 'dns', 'gps', 'sms']);

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
  return ENGLISH.test(whole) && !NO_PLURALS.has(whole) ? stemmer(toAmerican(whole)) : whole;
}

function toAmerican(word: string): string {
  if (word.length < 5) return SPECIAL[word] ?? word;
  if (ISE_EVERYWHERE.test(word)) return word;
  for (const [british, american] of AMERICAN) {
    if (british.test(word)) return word.replace(british, american);
  }
  return Object.hasOwn(SPECIAL, word) ? (SPECIAL[word] ?? word) : word;
}
