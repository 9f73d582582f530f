import { MAX_WORDS, type ParsedQuery, type QueryTerm } from './parse-query.ts';
import { isStopWord } from './stop-words.ts';

/** A word or quoted phrase of the query that may have to be resolved. */
export interface Slot extends Pick<QueryTerm, 'kind' | 'words'> {
  readonly need: 'wanted' | 'required';
  readonly typed: string;
  /** The run without spaces that this pair of characters is from; null for other words. */
  readonly run: string | null;
  /** True for a name of stop words, such as `todo` for `to do`, which is not missed if no listing has it. */
  readonly isOptional: boolean;
}

/** Names a slot, the same in any order of the words. */
export function slotName({ kind, typed, need }: Slot): string {
  return `${need} ${kind === 'phrase' ? `"${typed}"` : typed}`;
}

/** Returns the words of a term as typed, folded. */
export function typedText({ words }: Pick<QueryTerm, 'words'>): string {
  return words.join(' ');
}

/** Returns the words that are searched, in typed order, and those that are left out. */
export function contentSlots(query: ParsedQuery): { slots: readonly Slot[]; ignored: readonly Slot[] } {
  const all = distinctSlots(query.terms.flatMap(slotsOf));
  const isContent = ({ kind, words, need }: Slot): boolean =>
    need === 'required' || kind === 'phrase' || !isStopWord(words[0] ?? '');
  const names = query.variants
    .filter(({ words }) => words.every(isStopWord))
    .map(
      ({ word }): Slot => ({ kind: 'word', words: [word], need: 'wanted', typed: word, run: null, isOptional: true }),
    );
  const content = all.some(isContent) ? all.filter(isContent) : all;
  const slots = distinctSlots([...content, ...names]).slice(0, MAX_WORDS);
  return { slots, ignored: all.filter((slot) => !slots.includes(slot)) };
}

function slotsOf(term: QueryTerm): Slot[] {
  const { kind, words, need } = term;
  if (need === 'excluded') return [];
  // A run of characters in a script without spaces: each pair is a word of its own.
  if (kind === 'phrase' && need === 'wanted')
    return words.map((word) => ({
      kind: 'word',
      words: [word],
      need,
      typed: word,
      run: runOf(words),
      isOptional: false,
    }));
  return [{ kind, words, need, typed: typedText(term), run: null, isOptional: false }];
}

/** Returns the run that these pairs of characters overlap to. */
function runOf(pairs: readonly string[]): string {
  return pairs.map((pair, at) => (at === 0 ? pair : [...pair].slice(1).join(''))).join('');
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
