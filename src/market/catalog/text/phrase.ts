import { slabOf } from '../byte-runs.ts';
import { createPosting, forEachMember, levelOf, type Posting, setLevel } from '../sets/posting.ts';
import type { TextState } from './text-state.ts';
import { encodeTokens, hasInRow, MOST_BYTES } from './token-codec.ts';
import { wordId } from './word-table.ts';

/** Exactly these words in a row. Every member has level 1: the rank comes from the words. */
export interface PhrasePlan {
  readonly needle: Uint8Array;
  /** The sets of the words' stems, smallest first. */
  readonly postings: readonly Posting[];
  readonly cost: number;
}

const LOOKING_COSTS = 40;
const CANDIDATES_PER_SLICE = 1_000;

/** The words as encoded tokens; null when one of them is in no listing, so that nothing can match. */
export function encodePhrase(state: TextState, words: readonly string[]): Uint8Array | null {
  const ids = phraseWords(state, words);
  return ids === null ? null : encoded(ids);
}

/** The numbers of the words; null when one of them is in no listing. */
export function phraseWords(state: TextState, words: readonly string[]): number[] | null {
  const ids: number[] = [];
  for (const word of words) {
    const id = wordId(state.words, word);
    if (id === 0) return null;
    ids.push(id);
  }
  return ids;
}

function encoded(ids: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(ids.length * MOST_BYTES);
  return bytes.subarray(0, encodeTokens(Uint32Array.from(ids), ids.length, bytes));
}

export function planPhrase(state: TextState, words: readonly number[]): PhrasePlan {
  const stems = new Set(words.map((word) => state.words.stems[word] as number));
  const postings = [...stems].flatMap((stem) => state.stems.postings[stem] ?? []).sort((a, b) => a.count - b.count);
  return { needle: encoded(words), postings, cost: (postings[0]?.count ?? 0) * LOOKING_COSTS };
}

/**
 * Builds the set in slices: the caller may let other work run after each. The loops are in functions of their own, because they are
 * compiled well while they run there, and not in a generator.
 */
export function* buildPhrase(state: TextState, plan: PhrasePlan): Generator<void, Posting> {
  const built = createPosting();
  const [smallest, ...others] = plan.postings;
  if (smallest === undefined) return built;
  const ids = new Uint32Array(smallest.count);
  let gathered = 0;
  forEachMember(smallest, (id) => {
    ids[gathered] = id;
    gathered += 1;
  });
  for (let from = 0; from < gathered; from += CANDIDATES_PER_SLICE) {
    if (from > 0) yield;
    addMatching(state, plan, others, ids.subarray(from, from + CANDIDATES_PER_SLICE), built);
  }
  return built;
}

function addMatching(
  state: TextState,
  plan: PhrasePlan,
  others: readonly Posting[],
  ids: Uint32Array,
  built: Posting,
): void {
  for (const id of ids) {
    if (!hasAll(others, id)) continue;
    if (isInListing(state, id, plan.needle)) setLevel(built, id, 1);
  }
}

function hasAll(postings: readonly Posting[], id: number): boolean {
  for (const posting of postings) {
    if (levelOf(posting, id) === 0) return false;
  }
  return true;
}

/** The level of one listing, from its text. */
export function phraseLevel(state: TextState, words: readonly string[], id: number): number {
  const needle = encodePhrase(state, words);
  return needle !== null && isInListing(state, id, needle) ? 1 : 0;
}

function isInListing(state: TextState, id: number, needle: Uint8Array): boolean {
  const { at, length } = state.sequences;
  const slab = slabOf(state.sequences, id);
  return slab !== null && hasInRow(slab.bytes, at[id] as number, length[id] as number, needle);
}
