import { correctWord } from './near-words.ts';
import type { ParsedQuery, QueryTerm } from './parse-query.ts';
import { postingOfStem } from './stem-table.ts';
import { stemOf } from './stem.ts';
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

/** More words than a need has. It bounds the work and the cursor. */
export const MOST_WORDS = 32;
/** Finding the nearest spelling reads all words of the market. */
const MOST_CORRECTED = 4;

/** How one word is searched: as typed, as the beginning of others, not at all, or else as the words given here. */
const [AS_TYPED, AS_BEGINNING, MISSING] = ['', '*', '-'];

/** A word or quoted phrase of the query that may have to be resolved. */
type Slot = Pick<ResolvedTerm, 'kind' | 'words' | 'need'>;

/** Decides for each word of a need what is searched. `choices` come from the first page of a walk. */
export function resolveQuery(state: TextState, query: ParsedQuery, choices: string | null): Resolution {
  const { slots, ignored } = contentSlots(query);
  const given = choices === null || choices === '' ? null : choices.split(',');
  let corrections = 0;
  const chosen = slots.map((slot, index) => {
    if (choices !== null) return given?.[index] ?? AS_TYPED;
    const choice = chooseForm(state, slot);
    if (choice !== MISSING || corrections === MOST_CORRECTED) return choice;
    corrections += 1;
    return correctWord(state, slot.words[0] ?? '') ?? MISSING;
  });
  const missing = slots.filter((_, index) => chosen[index] === MISSING).map(typedText);
  return {
    query,
    match: 'any',
    terms: slots.flatMap((slot, index) => termsOf(slot, chosen[index] as string)),
    ignored: ignored.map(typedText),
    missing,
    choices: chosen.every((choice) => choice === AS_TYPED) ? '' : chosen.join(','),
  };
}

/** Resolves every term as it stands and requires all of them. */
export function requireAll(query: ParsedQuery): Resolution {
  const terms = query.terms.flatMap((term): ResolvedTerm[] =>
    term.need === 'excluded' ? [] : [{ ...term, need: 'required', typed: typedText(term), usedAs: null }],
  );
  return { query, match: 'all', terms, ignored: [], missing: [], choices: '' };
}

function typedText({ words }: Pick<Slot, 'words'>): string {
  return words.join(' ');
}

function contentSlots(query: ParsedQuery): { slots: readonly Slot[]; ignored: readonly Slot[] } {
  const all = query.terms.flatMap(({ kind, words, need }): Slot[] => {
    if (need === 'excluded') return [];
    // A run of characters in a script without spaces: each pair is a word of its own.
    if (kind === 'phrase' && need === 'wanted') return words.map((word) => ({ kind: 'word', words: [word], need }));
    return [{ kind, words, need }];
  });
  const distinct = [...new Map(all.map((slot) => [JSON.stringify(slot), slot])).values()];
  const isContent = ({ kind, words, need }: Slot): boolean =>
    need === 'required' || kind === 'phrase' || !isStopWord(words[0] ?? '');
  const content = distinct.some(isContent) ? distinct.filter(isContent) : distinct;
  const slots = content.slice(0, MOST_WORDS);
  return { slots, ignored: distinct.filter((slot) => !slots.includes(slot)) };
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
  const typed = typedText(slot);
  // A required word keeps its place, so that nothing matches.
  if (choice === MISSING && slot.need === 'wanted') return [];
  if (choice === AS_BEGINNING) return [{ ...slot, kind: 'beginning', typed, usedAs: null }];
  if (choice === AS_TYPED || choice === MISSING)
    return [{ ...slot, kind: slot.kind === 'phrase' ? 'phrase' : 'word', typed, usedAs: null }];
  return choice.split(' ').map((word) => ({ kind: 'word', words: [word], need: slot.need, typed, usedAs: choice }));
}
