import { stemOf } from '../../src/market/catalog/text/stem.ts';
import { isStopWord } from '../../src/market/catalog/text/stop-words.ts';
import { isPair } from '../../src/market/catalog/text/tokenize.ts';
import {
  asTyped,
  distinct,
  isSingle,
  isTitle,
  type NaiveNeed,
  nameInNeed,
  type SearchedTerm,
  type Term,
  typedWords,
} from './naive-needs.ts';
import { correctNaively } from './naive-spelling.ts';
import { hasBeginning, hasStem, type NaiveSpelling, type NaiveWords } from './naive-words.ts';

/** Decides for each word of a need what is searched for it. */

/** The nearest spelling is looked for so many times, because that reads all words of the market. */
const MOST_CORRECTED = 4;

interface Resolved {
  term: Term;
  /** Terms searched for the word. */
  searched: SearchedTerm[];
  isMissing: boolean;
}

export function resolveTerms(
  texts: readonly NaiveWords[],
  { parts }: NaiveNeed,
  { content, spellings }: { content: readonly Term[]; spellings: readonly NaiveSpelling[] },
): Resolved[] {
  const sorted = content.toSorted((a, b) => (nameInNeed(a) < nameInNeed(b) ? -1 : 1));
  const isSpelled = ({ need, words: [word = ''] }: Term): boolean =>
    need === 'wanted' &&
    spellings.some((one) => one.words.includes(word) && texts.some((text) => hasStem(text, stemOf(one.word))));
  const forms = new Map(sorted.map((term) => [term, formOf(texts, term) ?? (isSpelled(term) ? 'word' : null)]));
  const missing = sorted.filter((term) => forms.get(term) === null);
  const known = sorted
    .filter((term) => forms.get(term) === 'word' || term.kind === 'phrase')
    .flatMap(({ words }) => words);
  const used = chooseSpellings(
    texts,
    missing.slice(0, MOST_CORRECTED).map(({ words: [word = ''] }) => word),
    {
      typed: typedWords(parts),
      known,
    },
  );
  return content.map((term) => {
    const kind = forms.get(term) ?? null;
    if (kind !== null) return { term, searched: [asTyped(term, kind)], isMissing: false };
    const usedAs = used.get(term.words[0] ?? '');
    if (usedAs !== undefined) {
      const searched = usedAs.split(' ').map((one) => ({ ...asTyped(term, 'word'), words: [one], usedAs }));
      return { term, searched, isMissing: false };
    }
    // A required word that is missing stays, so that nothing matches.
    return { term, searched: term.need === 'required' ? [asTyped(term, 'word')] : [], isMissing: true };
  });
}

/** Chooses the spellings that make a title of the need, or else those that stand most often beside the rarest known word. */
function chooseSpellings(
  texts: readonly NaiveWords[],
  words: readonly string[],
  { typed, known }: { typed: readonly string[]; known: readonly string[] },
): Map<string, string> {
  const distinctTyped = [...new Set(typed)];
  const misspelled = [...new Set(words)]
    .map((word) => {
      const at = distinctTyped.indexOf(word);
      const joined = [`${distinctTyped[at - 1] ?? ' '}${word}`, `${word}${distinctTyped[at + 1] ?? ' '}`];
      const held = joined.filter((one) => texts.some((text) => hasStem(text, stemOf(one))));
      if (held.length > 0) return { word, candidates: held, isShort: false };
      return { word, candidates: isPair(word) ? [] : correctNaively(texts, word), isShort: word.length < 4 };
    })
    .filter(({ candidates }) => candidates.length > 0);
  const combinations = misspelled.reduce<Map<string, string>[]>(
    (all, { word, candidates }) =>
      all.flatMap((one) => candidates.map((candidate) => new Map([...one, [word, candidate]]))).slice(0, 64),
    [new Map()],
  );
  const titled = combinations.find((used) => texts.some((text) => isTitle(text, typed, used)));
  if (titled !== undefined) return titled;
  const neighbors = known
    .map((word) => texts.filter((text) => hasStem(text, stemOf(word))))
    .filter((having) => having.length > 0)
    .sort((a, b) => a.length - b.length)[0];
  const long = misspelled.filter(({ isShort }) => !isShort);
  return new Map(
    long.map(({ word, candidates }) => {
      const beside = candidates.map((one) => neighbors?.filter((text) => hasStem(text, stemOf(one))).length ?? 0);
      return [word, candidates[beside.indexOf(Math.max(...beside))] ?? ''];
    }),
  );
}

/** Returns how a word is searched, or null if no listing has it. */
function formOf(texts: readonly NaiveWords[], { kind, words: [word = ''] }: Term): Term['kind'] | null {
  if (kind === 'phrase') return kind;
  if (!(kind === 'beginning' && isSingle(word)) && texts.some((text) => hasStem(text, stemOf(word)))) return 'word';
  return kind === 'beginning' && texts.some((text) => hasBeginning(text, word)) ? kind : null;
}

/** A name whose words all say nothing, such as `todo` for `to do`, is a word of its own if a listing has it. */
export function namesOfStopWords(
  texts: readonly NaiveWords[],
  content: readonly Term[],
  spellings: readonly NaiveSpelling[],
): SearchedTerm[] {
  const names = spellings
    .filter(({ words }) => words.every(isStopWord))
    .map(({ word }): Term => ({ kind: 'word', words: [word], need: 'wanted' }));
  const others = distinct(names).filter((name) => content.every((term) => nameInNeed(term) !== nameInNeed(name)));
  return others.filter((name) => formOf(texts, name) !== null).map((name) => asTyped(name, 'word'));
}
