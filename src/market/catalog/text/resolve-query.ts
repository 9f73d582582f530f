import { chooseSpellings, type Misspelled } from './choose-spelling.ts';
import { correctWord, isTooShort } from './near-words.ts';
import type { ParsedQuery, QueryTerm } from './parse-query.ts';
import { contentSlots, type Slot, slotName, typedText } from './query-slots.ts';
import { stemOf } from './stem.ts';
import { postingOfStem } from './stem-table.ts';
import type { TextState } from './text-state.ts';
import { isPair } from './tokenize.ts';
import { wordsLike } from './word-table.ts';

/** A word or phrase of a query, in the form that is searched. */
export interface ResolvedTerm {
  readonly kind: QueryTerm['kind'];
  readonly words: readonly string[];
  readonly need: 'wanted' | 'required';
  /** The word or words as typed, folded. */
  readonly typed: string;
  /** The words searched in place of `typed`; null if those are the same. */
  readonly usedAs: string | null;
}

/** A query as its words are searched in this market. */
export interface Resolution {
  readonly query: ParsedQuery;
  readonly match: 'any' | 'all';
  readonly terms: readonly ResolvedTerm[];
  /** Words that say nothing, and words beyond the limit. */
  readonly ignored: readonly string[];
  /** Words that no listing has and that resemble no other. */
  readonly missing: readonly string[];
  /** How each word was resolved. Resolving with it again gives the same terms, whatever has changed; empty if all are as typed. */
  readonly choices: string;
}

/** Finding the nearest spelling reads all words of the market. */
const MAX_CORRECTED = 4;

/** How one word is searched: as typed, as the beginning of others, not at all, or else as the words given here. */
const [AS_TYPED, AS_BEGINNING, MISSING] = ['', '*', '-'];

/** Decides for each word of a need what is searched. `choices` come from the first page of a walk. */
export function resolveQuery(state: TextState, query: ParsedQuery, choices: string | null): Resolution {
  const { slots, ignored } = contentSlots(query);
  // Choices are stored in an order that does not depend on the order of the words.
  const sorted = slots.toSorted((a, b) => (slotName(a) < slotName(b) ? -1 : 1));
  const chosen = choices === null ? chooseForms(state, sorted, query) : readChoices(sorted, choices);
  const formOf = (slot: Slot): string => chosen[sorted.indexOf(slot)] ?? AS_TYPED;
  const found = new Set(slots.filter((slot) => formOf(slot) !== MISSING).map(({ run }) => run));
  // A run without spaces is missing as a whole, and only if none of its pairs is there.
  const missing = slots.filter(
    (slot) => formOf(slot) === MISSING && !slot.isOptional && !(slot.run !== null && found.has(slot.run)),
  );
  return {
    query,
    match: 'any',
    terms: slots.flatMap((slot) => termsOf(slot, formOf(slot))),
    ignored: [...new Set(ignored.map(({ typed }) => typed))],
    missing: [...new Set(missing.map(({ typed, run }) => run ?? typed))],
    choices: chosen.every((choice) => choice === AS_TYPED) ? '' : chosen.join(','),
  };
}

function readChoices(slots: readonly Slot[], choices: string): readonly string[] {
  const given = choices.split(',');
  return slots.map((_, index) => (choices === '' ? AS_TYPED : (given[index] ?? AS_TYPED)));
}

function chooseForms(state: TextState, slots: readonly Slot[], query: ParsedQuery): readonly string[] {
  const forms = slots.map((slot) => {
    const form = chooseForm(state, slot);
    return form === MISSING && isFoundAsVariant(state, query, slot) ? AS_TYPED : form;
  });
  const misspelled = slots
    .filter(({ isOptional }, index) => forms[index] === MISSING && !isOptional)
    .slice(0, MAX_CORRECTED)
    .map(({ typed: word }) => misspelledWord(state, word, query))
    .filter(({ candidates }) => candidates.length > 0);
  if (misspelled.length === 0) return forms;
  const known = slots.filter((_, index) => forms[index] === AS_TYPED).flatMap(({ words }) => words);
  const spellings = chooseSpellings(state, misspelled, { typed: query.typed, known });
  return forms.map((form, index) => (form === MISSING ? (spellings.get(slots[index]?.typed ?? '') ?? form) : form));
}

/** Returns what a word may have been meant to be: two words that the query has apart come before another spelling. */
function misspelledWord(state: TextState, word: string, { typed }: ParsedQuery): Misspelled {
  const joined = joinedWords([...typed], word).filter(
    (one) => (postingOfStem(state.stems, stemOf(one))?.count ?? 0) > 0,
  );
  if (joined.length > 0) return { typed: word, candidates: joined, isShort: false };
  return { typed: word, candidates: correctWord(state, word), isShort: isTooShort(word) };
}

function joinedWords(typed: readonly string[], word: string): string[] {
  const at = typed.indexOf(word);
  const [before, after] = [typed[at - 1], typed[at + 1]];
  return [...(before === undefined ? [] : [before + word]), ...(after === undefined ? [] : [word + after])];
}

/** Resolves every term as it stands and requires all of them. */
export function requireAll(query: ParsedQuery): Resolution {
  const terms = query.terms.flatMap((term): ResolvedTerm[] =>
    term.need === 'excluded' ? [] : [{ ...term, need: 'required', typed: typedText(term), usedAs: null }],
  );
  return { query, match: 'all', terms, ignored: [], missing: [], choices: '' };
}

function chooseForm(state: TextState, { kind, words }: Slot): string {
  if (kind === 'phrase') return AS_TYPED;
  const word = words[0] ?? '';
  // A character of a script without spaces begins pairs, and is a word of its own only where a run ends.
  if (kind === 'beginning' && isPair(word)) return hasBeginning(state, word) ? AS_BEGINNING : MISSING;
  if ((postingOfStem(state.stems, stemOf(word))?.count ?? 0) > 0) return AS_TYPED;
  if (kind === 'beginning' && hasBeginning(state, word)) return AS_BEGINNING;
  return MISSING;
}

/** Returns whether listings have another spelling of the word, which stands for it: `frontend` for `front` of `front end`. */
function isFoundAsVariant({ stems }: TextState, { variants }: ParsedQuery, { typed, need }: Slot): boolean {
  const spellings = variants.filter(({ words }) => need === 'wanted' && words.includes(typed));
  return spellings.some(({ word }) => (postingOfStem(stems, stemOf(word))?.count ?? 0) > 0);
}

function hasBeginning({ words }: TextState, beginning: string): boolean {
  return wordsLike(words, beginning).some((word) => (words.texts[word] ?? '').startsWith(beginning));
}

function termsOf(slot: Slot, choice: string): ResolvedTerm[] {
  const { words, need, typed } = slot;
  // A required word keeps its place, so that nothing matches.
  if (choice === MISSING && need === 'wanted') return [];
  if (choice === AS_BEGINNING) return [{ kind: 'beginning', words, need, typed, usedAs: null }];
  if (choice === AS_TYPED || choice === MISSING)
    return [{ kind: slot.kind === 'phrase' ? 'phrase' : 'word', words, need, typed, usedAs: null }];
  return choice.split(' ').map((word) => ({ kind: 'word', words: [word], need, typed, usedAs: choice }));
}
