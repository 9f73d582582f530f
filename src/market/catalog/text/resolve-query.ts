import { chooseSpellings } from './choose-spelling.ts';
import { correctWord, isTooShort } from './near-words.ts';
import { MAX_WORDS, type ParsedQuery, type QueryTerm } from './parse-query.ts';
import { stemOf } from './stem.ts';
import { postingOfStem } from './stem-table.ts';
import { isStopWord } from './stop-words.ts';
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

/** A word or quoted phrase of the query that may have to be resolved. */
interface Slot extends Pick<ResolvedTerm, 'kind' | 'words' | 'need' | 'typed'> {
  /** True for a name of stop words, such as `todo` for `to do`, which is not missed if no listing has it. */
  readonly isOptional: boolean;
}

/** Decides for each word of a need what is searched. `choices` come from the first page of a walk. */
export function resolveQuery(state: TextState, query: ParsedQuery, choices: string | null): Resolution {
  const { slots, ignored } = contentSlots(query);
  // Choices are stored in an order that does not depend on the order of the words.
  const sorted = slots.toSorted((a, b) => (slotName(a) < slotName(b) ? -1 : 1));
  const chosen = choices === null ? chooseForms(state, sorted, query) : readChoices(sorted, choices);
  const formOf = (slot: Slot): string => chosen[sorted.indexOf(slot)] ?? AS_TYPED;
  const missing = slots.filter((slot) => formOf(slot) === MISSING && !slot.isOptional);
  return {
    query,
    match: 'any',
    terms: slots.flatMap((slot) => termsOf(slot, formOf(slot))),
    ignored: [...new Set(ignored.map(({ typed }) => typed))],
    missing: [...new Set(missing.map(({ typed }) => typed))],
    choices: chosen.every((choice) => choice === AS_TYPED) ? '' : chosen.join(','),
  };
}

function slotName({ kind, typed, need }: Slot): string {
  return `${need} ${kind === 'phrase' ? `"${typed}"` : typed}`;
}

function readChoices(slots: readonly Slot[], choices: string): readonly string[] {
  const given = choices.split(',');
  return slots.map((_, index) => (choices === '' ? AS_TYPED : (given[index] ?? AS_TYPED)));
}

function chooseForms(state: TextState, slots: readonly Slot[], { typed }: ParsedQuery): readonly string[] {
  const forms = slots.map((slot) => chooseForm(state, slot));
  const misspelled = slots
    .filter(({ isOptional }, index) => forms[index] === MISSING && !isOptional)
    .slice(0, MAX_CORRECTED)
    .map(({ typed: word }) => ({ typed: word, candidates: correctWord(state, word), isShort: isTooShort(word) }))
    .filter(({ candidates }) => candidates.length > 0);
  if (misspelled.length === 0) return forms;
  const known = slots.filter((_, index) => forms[index] === AS_TYPED).flatMap(({ words }) => words);
  const spellings = chooseSpellings(state, misspelled, { typed, known });
  return forms.map((form, index) => (form === MISSING ? (spellings.get(slots[index]?.typed ?? '') ?? form) : form));
}

/** Resolves every term as it stands and requires all of them. */
export function requireAll(query: ParsedQuery): Resolution {
  const terms = query.terms.flatMap((term): ResolvedTerm[] =>
    term.need === 'excluded' ? [] : [{ ...term, need: 'required', typed: typedText(term), usedAs: null }],
  );
  return { query, match: 'all', terms, ignored: [], missing: [], choices: '' };
}

function typedText({ words }: Pick<QueryTerm, 'words'>): string {
  return words.join(' ');
}

function contentSlots(query: ParsedQuery): { slots: readonly Slot[]; ignored: readonly Slot[] } {
  const all = distinctSlots(query.terms.flatMap(slotsOf));
  const isContent = ({ kind, words, need }: Slot): boolean =>
    need === 'required' || kind === 'phrase' || !isStopWord(words[0] ?? '');
  const names = query.variants
    .filter(({ words }) => words.every(isStopWord))
    .map(({ word }): Slot => ({ kind: 'word', words: [word], need: 'wanted', typed: word, isOptional: true }));
  const content = all.some(isContent) ? all.filter(isContent) : all;
  const slots = distinctSlots([...content, ...names]).slice(0, MAX_WORDS);
  return { slots, ignored: all.filter((slot) => !slots.includes(slot)) };
}

function slotsOf(term: QueryTerm): Slot[] {
  const { kind, words, need } = term;
  if (need === 'excluded') return [];
  // A run of characters in a script without spaces: each pair is a word of its own.
  if (kind === 'phrase' && need === 'wanted')
    return words.map((word) => ({ kind: 'word', words: [word], need, typed: word, isOptional: false }));
  return [{ kind, words, need, typed: typedText(term), isOptional: false }];
}

/** Keeps the first of equal slots. A word that also ends the query is one slot, which may be a beginning. */
function distinctSlots(slots: readonly Slot[]): Slot[] {
  const distinct = new Map<string, Slot>();
  for (const slot of slots) {
    const name = slotName(slot);
    if (!distinct.has(name) || slot.kind === 'beginning') distinct.set(name, slot);
  }
  return [...distinct.values()];
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
