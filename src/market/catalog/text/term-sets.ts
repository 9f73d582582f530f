import { slabOf } from '../byte-runs.ts';
import { createPosting, forEachMember, levelOf, type Posting, setLevel } from '../sets/posting.ts';
import { stemOf } from './stem.ts';
import { stemLevel } from './stem-table.ts';
import { listingTokens, type TextState } from './text-state.ts';
import { encodeTokens, FIRST_WORD, hasSequence, MOST_BYTES } from './tokens.ts';
import { wordId, wordsLike } from './word-table.ts';

/**
 * Plan for the set of a typed beginning. A listing matches if it has the stem of the typed text or a word that begins with the typed text.
 * Its level is the highest level of the matching stems and depends only on its own text, so one changed listing changes one member.
 */
export interface BeginningPlan {
  readonly beginning: string;
  /** The typed stem and stems whose words all match. Their listings become members without a check of the text. */
  readonly whole: readonly number[];
  /** Stems of which only some words match, so the text of each of their listings must be checked. */
  readonly partial: readonly number[];
  readonly words: ReadonlySet<number>;
  /** True if only the typed stem matches; its own posting is used then. */
  readonly isTypedStem: boolean;
  readonly cost: number;
}

const CHECK_COST = 40;
/** Cost of fetching another set from memory. */
const STEM_COST = 10;
const MEMBERS_PER_SLICE = 25_000;
const CHECKED_PER_SLICE = 1_000;
const IDS_PER_SLICE = 50_000;
/** Sorting this many ids takes a few milliseconds; for more, scan all ids instead. */
const MOST_SORTED = 50_000;

/** Highest level so far by id, and the ids that have one. */
interface Raised {
  levels: Uint8Array;
  ids: number[];
}

export function planBeginning(state: TextState, beginning: string): BeginningPlan {
  const { words: table, stems } = state;
  const matching = new Set<number>();
  const counts = new Map<number, number>();
  for (const word of wordsLike(table, beginning)) {
    if (!(table.texts[word] ?? '').startsWith(beginning)) continue;
    matching.add(word);
    const stem = table.stems[word] as number;
    counts.set(stem, (counts.get(stem) ?? 0) + 1);
  }
  const typed = stems.ids.get(stemOf(beginning));
  const whole = typed === undefined ? [] : [typed];
  const partial: number[] = [];
  let cost = counts.size * STEM_COST;
  for (const [stem, count] of counts) {
    if (stem === typed) continue;
    const isWhole = count === stems.words[stem];
    (isWhole ? whole : partial).push(stem);
    cost += (stems.postings[stem]?.count ?? 0) * (isWhole ? 1 : CHECK_COST);
  }
  const isTypedStem = typed !== undefined && whole.length === 1 && partial.length === 0;
  if (typed !== undefined && !isTypedStem) cost += stems.postings[typed]?.count ?? 0;
  return { beginning, whole, partial, words: matching, isTypedStem, cost };
}

/** Yields between slices for other work. The loops are separate functions, because the engine does not optimize them in a generator. */
export function* buildBeginning(state: TextState, plan: BeginningPlan): Generator<void, Posting> {
  const raised: Raised = { levels: new Uint8Array(state.highest + 1), ids: [] };
  let visited = 0;
  for (const stem of plan.whole) {
    visited += raiseAll(state, stem, raised);
    if (visited > MEMBERS_PER_SLICE) {
      visited = 0;
      yield;
    }
  }
  let checked = 0;
  for (const stem of plan.partial) {
    const ids = membersOf(state, stem);
    for (let from = 0; from < ids.length; from += CHECKED_PER_SLICE) {
      if (checked >= CHECKED_PER_SLICE) {
        checked = 0;
        yield;
      }
      const slice = ids.subarray(from, from + CHECKED_PER_SLICE);
      raiseMatching(state, plan, stem, slice, raised);
      checked += slice.length;
    }
  }
  const built = createPosting();
  const sorted = raised.ids.length > MOST_SORTED ? null : Uint32Array.from(raised.ids).sort();
  const end = sorted?.length ?? raised.levels.length;
  for (let from = 0; from < end; from += IDS_PER_SLICE) {
    if (from > 0) yield;
    addRaised(built, raised.levels, sorted, from, Math.min(end, from + IDS_PER_SLICE));
  }
  return built;
}

function raiseLevel({ levels, ids }: Raised, id: number, level: number): void {
  // A listing added since the start is beyond the array. It is added at the end of the build.
  if (id >= levels.length || level <= (levels[id] as number)) return;
  if (levels[id] === 0) ids.push(id);
  levels[id] = level;
}

function raiseAll(state: TextState, stem: number, raised: Raised): number {
  const posting = state.stems.postings[stem];
  if (posting === undefined) return 0;
  forEachMember(posting, (id, level) => raiseLevel(raised, id, level));
  return posting.count;
}

function membersOf(state: TextState, stem: number): Uint32Array {
  const posting = state.stems.postings[stem];
  const ids = new Uint32Array(posting?.count ?? 0);
  let count = 0;
  if (posting !== undefined) {
    forEachMember(posting, (id) => {
      ids[count] = id;
      count += 1;
    });
  }
  return ids;
}

function raiseMatching(state: TextState, plan: BeginningPlan, stem: number, ids: Uint32Array, raised: Raised): void {
  for (const id of ids) {
    const level = stemLevel(state.stems, stem, id);
    if (level > (raised.levels[id] ?? 0) && hasMatchingWord(state, id, stem, plan.words)) raiseLevel(raised, id, level);
  }
}

function addRaised(built: Posting, levels: Uint8Array, sorted: Uint32Array | null, from: number, to: number): void {
  for (let at = from; at < to; at += 1) {
    const id = sorted === null ? at : (sorted[at] as number);
    const level = levels[id] as number;
    if (level !== 0) setLevel(built, id, level);
  }
}

function hasMatchingWord(state: TextState, id: number, stem: number, words: ReadonlySet<number>): boolean {
  const { tokens, count } = listingTokens(state, id);
  const { stems } = state.words;
  for (let index = 0; index < count; index += 1) {
    const token = tokens[index] as number;
    if (token >= FIRST_WORD && stems[token] === stem && words.has(token)) return true;
  }
  return false;
}

export function beginningLevel(state: TextState, beginning: string, id: number): number {
  const { words: table, stems } = state;
  const typed = stems.ids.get(stemOf(beginning));
  let level = typed === undefined ? 0 : stemLevel(stems, typed, id);
  const { tokens, count } = listingTokens(state, id);
  for (let index = 0; index < count; index += 1) {
    const token = tokens[index] as number;
    if (token < FIRST_WORD || !(table.texts[token] ?? '').startsWith(beginning)) continue;
    level = Math.max(level, stemLevel(stems, table.stems[token] as number, id));
  }
  return level;
}

/** Plan for the set of listings with exactly these words in a row. Every member has level 1, because the words provide the rank. */
interface PhrasePlan {
  readonly needle: Uint8Array;
  /** The sets of the words' stems, smallest first. */
  readonly postings: readonly Posting[];
  readonly cost: number;
}

const CANDIDATES_PER_SLICE = 1_000;

/** Encodes the words as tokens. Returns null if a word is in no listing, so that nothing can match. */
export function encodePhrase(state: TextState, words: readonly string[]): Uint8Array | null {
  const ids = phraseWords(state, words);
  return ids === null ? null : encodeWords(ids);
}

/** Returns the numbers of the words, or null if a word is in no listing. */
export function phraseWords(state: TextState, words: readonly string[]): number[] | null {
  const ids: number[] = [];
  for (const word of words) {
    const id = wordId(state.words, word);
    if (id === 0) return null;
    ids.push(id);
  }
  return ids;
}

function encodeWords(ids: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(ids.length * MOST_BYTES);
  return bytes.subarray(0, encodeTokens(Uint32Array.from(ids), ids.length, bytes));
}

export function planPhrase(state: TextState, words: readonly number[]): PhrasePlan {
  const stems = new Set(words.map((word) => state.words.stems[word] as number));
  const postings = [...stems].flatMap((stem) => state.stems.postings[stem] ?? []).sort((a, b) => a.count - b.count);
  return { needle: encodeWords(words), postings, cost: (postings[0]?.count ?? 0) * CHECK_COST };
}

/** Builds the set in slices, like `buildBeginning`. */
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

export function phraseLevel(state: TextState, words: readonly string[], id: number): number {
  const needle = encodePhrase(state, words);
  return needle !== null && isInListing(state, id, needle) ? 1 : 0;
}

function isInListing(state: TextState, id: number, needle: Uint8Array): boolean {
  const { at, length } = state.sequences;
  const slab = slabOf(state.sequences, id);
  return slab !== null && hasSequence(slab.bytes, at[id] as number, length[id] as number, needle);
}
