import { diceFor } from './dice.ts';

export interface Vocabulary {
  /** Words by rank, most frequent first. */
  words: readonly string[];
  tags: readonly string[];
}

export const WORDS = 50_000;
export const TAGS = 2_000;

const ONSETS = 'b c d f g h j k l m n p r s t v w z b c d f g l m n p r s t br ch cl dr fl gr pr sh st tr'.split(' ');
const VOWELS = 'a e i o u a e i o a e ai ea ou'.split(' ');
const CODAS = ['', '', '', '', 'n', 'r', 'l', 's', 't', 'm', 'd', 'nd', 'st'];
/** Endings that let words share stems and prefixes. */
const ENDINGS = ['', 's', 'ed', 'ing', 'er', 'ly', 'ment', 'able', 'ation', 'ness'];
const FORMS_AT_LEAST = 2;
const ACCENTED_SHARE = 0.01;
const ACCENTS: Readonly<Record<string, string>> = { a: 'á', e: 'é', i: 'í', o: 'ö', u: 'ü' };
/** Ranks up to here are short words without endings, as in any language. */
const SHORT_WORDS = 60;

/** Generates pronounceable words. A seed always gives the same words. */
export function makeVocabulary(seed: number): Vocabulary {
  const dice = diceFor(seed, 'vocabulary');
  const syllable = (): string => dice.pick(ONSETS) + dice.pick(VOWELS) + dice.pick(CODAS);
  const known = new Set<string>();
  while (known.size < SHORT_WORDS) known.add(syllable());
  const short = [...known];
  const forms: string[] = [];
  while (known.size < WORDS) {
    const root = withAccent(
      syllable() + syllable() + (dice.share() < 0.15 ? syllable() : ''),
      dice.share(),
      dice.int(9),
    );
    const count = FORMS_AT_LEAST + dice.int(ENDINGS.length - FORMS_AT_LEAST);
    for (const ending of ENDINGS.slice(0, count)) {
      const word = root + ending;
      if (known.size === WORDS || known.has(word)) continue;
      known.add(word);
      forms.push(word);
    }
  }
  // Shuffle, so that the forms of one word have unrelated frequencies.
  for (let last = forms.length - 1; last > 0; last -= 1) {
    const other = dice.int(last + 1);
    const [one, two] = [forms[last] ?? '', forms[other] ?? ''];
    forms[last] = two;
    forms[other] = one;
  }
  return { words: [...short, ...forms], tags: makeTags(seed, forms) };
}

/** Makes tags of one or two words of ASCII letters, as tags require. */
function makeTags(seed: number, forms: readonly string[]): string[] {
  const dice = diceFor(seed, 'tags');
  const plain = forms.filter((word) => /^[a-z]{4,12}$/.test(word));
  const tags = new Set<string>();
  while (tags.size < TAGS) tags.add(dice.share() < 0.7 ? dice.pick(plain) : `${dice.pick(plain)}-${dice.pick(plain)}`);
  return [...tags];
}

function withAccent(root: string, chance: number, from: number): string {
  if (chance >= ACCENTED_SHARE) return root;
  for (let at = from % root.length; at < root.length; at += 1) {
    const accented = ACCENTS[root.charAt(at)];
    if (accented !== undefined) return root.slice(0, at) + accented + root.slice(at + 1);
  }
  return root;
}
