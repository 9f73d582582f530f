import { bytesOfRuns, dropRun, isRun, putRun, slabOf } from '../byte-runs.ts';
import { levelOf, setLevel } from '../sets/posting.ts';
import { compileQuery, prepareQuery, type Search } from './compile-query.ts';
import {
  createDerivedSets,
  type DerivedEntry,
  type DerivedSets,
  type DerivedSetsOptions,
  dropDerived,
} from './derived-sets.ts';
import type { ParsedQuery } from './parse-query.ts';
import { type Resolution, resolveQuery } from './resolve-query.ts';
import { setStemLevel } from './stem-table.ts';
import { countedLevel, countTokens, createTermCounter, hasWord, type TermCounter } from './term-levels.ts';
import { encodePhrase } from './term-sets.ts';
import { addTranslated, type ReaderWords } from './text-reader.ts';
import {
  addWaiting,
  createTextState,
  listingTokens,
  noteChange,
  type TextState,
  waitingBytes,
  writeWaiting,
} from './text-state.ts';
import { addTitle, dropTitle, titleBytes, titleWords, wordsHash } from './title-table.ts';
import {
  addListingText,
  createTokenList,
  encodeTokens,
  hasSequence,
  type ListingText,
  MOST_BYTES,
  type TokenList,
} from './tokens.ts';
import { countListing, discountListing, internWord, wordBytes, wordId } from './word-table.ts';

export interface TextIndex {
  /** Adds or replaces a listing's text. Putting the same text again is cheap and changes nothing. */
  put(id: number, text: ListingText): void;
  /** Like `put`, with tokens from a text reader, which has its own word numbers. */
  putRead(id: number, read: ReadTokens): void;
  remove(id: number): void;
  has(id: number): boolean;
  /** Decides how each word of a need is searched. `choices` are those of the first page of a walk, null on a first page. */
  resolve(query: ParsedQuery, choices: string | null): Resolution;
  /** Returns null if a set must be built first; then await `prepare` and retry. */
  compile(resolution: Resolution): Search | null;
  prepare(resolution: Resolution): Promise<void>;
  bytes(): number;
  listings(): number;
  /** Counts distinct words, before stemming. */
  terms(): number;
  /** Counts listings put and removed, except those that were there already. */
  changes(): number;
  /** Returns the tables behind the index, complete, to save them. */
  state(): TextState;
}

/** One listing's tokens, from `from` to `to` in an array shared by many. */
export interface ReadTokens {
  tokens: Uint32Array;
  from: number;
  to: number;
  words: ReaderWords;
}

export type { Search } from './compile-query.ts';
export type { ListingText } from './tokens.ts';

interface IndexParts {
  readonly state: TextState;
  readonly derived: DerivedSets;
  /** Scratch counters for the new text and the text it replaces. */
  readonly current: TermCounter;
  readonly previous: TermCounter;
  readonly list: TokenList;
  encoded: Uint8Array;
}

export function createTextIndex(options: DerivedSetsOptions, state: TextState = createTextState()): TextIndex {
  const derived = createDerivedSets(options);
  const parts = createParts(state, derived);
  const currentState = (): TextState => {
    writeWaiting(state.waiting, state.stems);
    return state;
  };
  return {
    put: (id, text) => {
      parts.list.count = 0;
      addListingText(parts.list, text);
      putTokens(parts, id);
    },
    putRead: (id, read) => {
      parts.list.count = 0;
      addTranslated(parts.list, state.words, read.words, read);
      putTokens(parts, id);
    },
    remove: (id) => removeText(parts, id),
    has: (id) => slabOf(state.sequences, id) !== null,
    resolve: (query, choices) => resolveQuery(currentState(), query, choices),
    compile: (resolution) => compileQuery(derived, currentState(), resolution),
    prepare: (resolution) => prepareQuery(derived, currentState(), resolution),
    bytes: () => indexBytes(state) + derived.bytes,
    listings: () => state.listings,
    terms: () => state.words.slots.count,
    changes: () => state.changes,
    state: currentState,
  };
}

function indexBytes({ sequences, stems, words, waiting, titles }: TextState): number {
  return bytesOfRuns(sequences) + stems.bytes + wordBytes(words) + waitingBytes(waiting) + titleBytes(titles);
}

function createParts(state: TextState, derived: DerivedSets): IndexParts {
  const list = createTokenList((codes, start, end) => internWord(state.words, codes, start, end));
  const counters = { current: createTermCounter(), previous: createTermCounter() };
  return { state, derived, ...counters, list, encoded: new Uint8Array(0) };
}

function putTokens(parts: IndexParts, id: number): void {
  const { state, derived, current, previous } = parts;
  const { tokens, count } = parts.list;
  if (parts.encoded.length < count * MOST_BYTES) parts.encoded = new Uint8Array(count * 2 * MOST_BYTES);
  const length = encodeTokens(tokens, count, parts.encoded);
  // A listing's entries depend on its text alone, so an equal text changes nothing.
  const encoded = [parts.encoded.subarray(0, length)];
  if (isRun(state.sequences, id, encoded)) return;
  noteChange(state, id);
  const isNew = slabOf(state.sequences, id) === null;
  if (isNew) state.listings += 1;
  else {
    countStored(parts, id);
    dropTitle(state.titles, id);
  }
  addTitle(state.titles, id, wordsHash(titleWords(tokens, count)));
  countTokens(current, state.words, tokens, count);
  // Count new words before discounting old ones, because a word in both must not leave the table in between.
  for (let index = 0; index < current.wordCount; index += 1) countListing(state.words, current.words[index] as number);
  if (isNew) {
    for (let index = 0; index < current.stemCount; index += 1) {
      const stem = current.stems[index] as number;
      addWaiting(state.waiting, state.stems, stem, id, countedLevel(current, stem));
    }
  } else replaceLevels(state, id, current, previous);
  putRun(state.sequences, id, encoded);
  state.highest = Math.max(state.highest, id);
  followListing(derived, state, id, { counter: current, encoded: parts.encoded, length });
}

function replaceLevels(state: TextState, id: number, current: TermCounter, previous: TermCounter): void {
  writeWaiting(state.waiting, state.stems);
  for (let index = 0; index < current.stemCount; index += 1) {
    const stem = current.stems[index] as number;
    setStemLevel(state.stems, stem, id, countedLevel(current, stem));
  }
  removeFromSets(state, previous, id, current);
}

function removeText(parts: IndexParts, id: number): void {
  const { state, derived, previous } = parts;
  if (slabOf(state.sequences, id) === null) return;
  noteChange(state, id);
  countStored(parts, id);
  writeWaiting(state.waiting, state.stems);
  removeFromSets(state, previous, id, null);
  dropRun(state.sequences, id);
  dropTitle(state.titles, id);
  state.listings -= 1;
  followRemoval(derived, id);
}

function countStored(parts: IndexParts, id: number): void {
  const { tokens, count } = listingTokens(parts.state, id);
  countTokens(parts.previous, parts.state.words, tokens, count);
}

/** Removes a listing from the sets of its old words, except for stems it still has. */
function removeFromSets(state: TextState, previous: TermCounter, id: number, current: TermCounter | null): void {
  for (let index = 0; index < previous.stemCount; index += 1) {
    const stem = previous.stems[index] as number;
    if (current === null || countedLevel(current, stem) === 0) setStemLevel(state.stems, stem, id, 0);
  }
  for (let index = 0; index < previous.wordCount; index += 1)
    discountListing(state.words, previous.words[index] as number);
}

interface CountedText {
  readonly counter: TermCounter;
  readonly encoded: Uint8Array;
  readonly length: number;
}

function followListing(sets: DerivedSets, state: TextState, id: number, current: CountedText): void {
  for (const { touched } of sets.building.values()) touched.push(id);
  if (sets.watchers.size > 0) followBeginnings(sets, state, current.counter);
  for (const entry of sets.entries.values()) {
    if (entry.posting === null) continue;
    const level =
      entry.kind === 'phrase'
        ? currentPhraseLevel(state, entry, current)
        : currentBeginningLevel(state, entry, current.counter);
    if (levelOf(entry.posting, id) !== level) setLevel(entry.posting, id, level);
  }
}

function followRemoval(sets: DerivedSets, id: number): void {
  for (const { touched } of sets.building.values()) touched.push(id);
  for (const entry of sets.entries.values()) {
    if (entry.posting !== null) setLevel(entry.posting, id, 0);
  }
}

/** Loops over the listing's words and not over all watched beginnings, of which few match. Stores the levels in `pending`. */
function followBeginnings(sets: DerivedSets, state: TextState, counter: TermCounter): void {
  const { groups, texts, stems } = state.words;
  for (let index = 0; index < counter.wordCount; index += 1) {
    const word = counter.words[index] as number;
    const watching = sets.watchers.get(groups[word] as number);
    if (watching === undefined) continue;
    for (const entry of watching) {
      if (!(texts[word] ?? '').startsWith(entry.words[0] ?? '')) continue;
      const stem = stems[word] as number;
      if (entry.posting !== null) entry.pending = Math.max(entry.pending, countedLevel(counter, stem));
      // Another stem matches now, so drop the entry. The next query that needs the set builds it again.
      else if (state.stems.texts[stem] !== entry.stem) dropDerived(sets, entry.key);
    }
  }
}

function currentBeginningLevel(state: TextState, entry: DerivedEntry, counter: TermCounter): number {
  const typed = state.stems.ids.get(entry.stem);
  const level = Math.max(entry.pending, typed === undefined ? 0 : countedLevel(counter, typed));
  entry.pending = 0;
  return level;
}

function currentPhraseLevel(state: TextState, entry: DerivedEntry, current: CountedText): number {
  for (const text of entry.words) {
    const word = wordId(state.words, text);
    if (word === 0 || !hasWord(current.counter, word)) return 0;
  }
  const needle = encodePhrase(state, entry.words);
  return needle !== null && hasSequence(current.encoded, 0, current.length, needle) ? 1 : 0;
}
