import { bytesOfRuns, createByteRuns, dropRun, isRun, putRun, slabOf } from '../byte-runs.ts';
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
import { createStemTable, setStemLevel } from './stem-table.ts';
import { suggestQuery } from './suggest-query.ts';
import { createTally, hasWord, levelInTally, type Tally, tallyTokens } from './term-levels.ts';
import { encodePhrase } from './term-sets.ts';
import { addTranslated, type WordsElsewhere } from './text-reader.ts';
import {
  addWaiting,
  createWaitingLevels,
  listingTokens,
  type TextState,
  waitingBytes,
  writeWaiting,
} from './text-state.ts';
import {
  addListingText,
  createTokenList,
  encodeTokens,
  hasInRow,
  type ListingText,
  MOST_BYTES,
  type TokenList,
} from './tokens.ts';
import { countListing, createWordTable, discountListing, internWord, wordBytes, wordId } from './word-table.ts';

export interface TextIndex {
  /** Adds or replaces. The same text again changes nothing and costs little. */
  put(id: number, text: ListingText): void;
  /** The same with the tokens of its text, which were read elsewhere. */
  putRead(id: number, read: ReadTokens): void;
  remove(id: number): void;
  /** Null when a set has to be made first: then await prepare. */
  compile(query: ParsedQuery): Search | null;
  prepare(query: ParsedQuery): Promise<void>;
  /** A near spelling of the query that matches something (judged by `matches`), or null. */
  suggest(query: ParsedQuery, matches: (query: ParsedQuery) => boolean): string | null;
  bytes(): number;
  listings(): number;
  /** Different words, before stemming. */
  terms(): number;
}

/** The place of a listing's tokens among those of many. */
export interface ReadTokens {
  tokens: Uint32Array;
  from: number;
  to: number;
  words: WordsElsewhere;
}

export type { Search } from './compile-query.ts';
export type { ListingText } from './tokens.ts';

const SLAB_BYTES = 1 << 20;

interface IndexParts {
  readonly state: TextState;
  readonly derived: DerivedSets;
  /** Of the text that is put, and of the one it replaces. */
  readonly now: Tally;
  readonly before: Tally;
  readonly list: TokenList;
  encoded: Uint8Array;
}

export function createTextIndex(options: DerivedSetsOptions): TextIndex {
  const stems = createStemTable();
  const state: TextState = {
    words: createWordTable(stems),
    stems,
    sequences: createByteRuns(SLAB_BYTES),
    waiting: createWaitingLevels(),
    listings: 0,
    highest: 0,
  };
  const derived = createDerivedSets(options);
  const parts = createParts(state, derived);
  const whole = (): TextState => {
    writeWaiting(state.waiting, stems);
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
    compile: (query) => compileQuery(derived, whole(), query),
    prepare: (query) => prepareQuery(derived, whole(), query),
    suggest: (query, matches) => suggestQuery(whole(), query, matches),
    bytes: () =>
      bytesOfRuns(state.sequences) + stems.bytes + wordBytes(state.words) + waitingBytes(state.waiting) + derived.bytes,
    listings: () => state.listings,
    terms: () => state.words.slots.count,
  };
}

function createParts(state: TextState, derived: DerivedSets): IndexParts {
  const list = createTokenList((codes, start, end) => internWord(state.words, codes, start, end));
  const tallies = { now: createTally(), before: createTally() };
  return { state, derived, ...tallies, list, encoded: new Uint8Array(0) };
}

function putTokens(parts: IndexParts, id: number): void {
  const { state, derived, now, before } = parts;
  const { tokens, count } = parts.list;
  if (parts.encoded.length < count * MOST_BYTES) parts.encoded = new Uint8Array(count * 2 * MOST_BYTES);
  const length = encodeTokens(tokens, count, parts.encoded);
  // The text says everything about a listing's place in the index, so the same text means that nothing is to be done.
  const encoded = [parts.encoded.subarray(0, length)];
  if (isRun(state.sequences, id, encoded)) return;
  const isNew = slabOf(state.sequences, id) === null;
  if (isNew) state.listings += 1;
  else tallyStored(parts, id);
  tallyTokens(now, state.words, tokens, count);
  // Counted before the old words are discounted: a word that stays must not leave in between.
  for (let index = 0; index < now.wordCount; index += 1) countListing(state.words, now.words[index] as number);
  if (isNew) {
    for (let index = 0; index < now.stemCount; index += 1) {
      const stem = now.stems[index] as number;
      addWaiting(state.waiting, state.stems, stem, id, levelInTally(now, stem));
    }
  } else replaceLevels(state, id, now, before);
  putRun(state.sequences, id, encoded);
  state.highest = Math.max(state.highest, id);
  followListing(derived, state, id, { tally: now, encoded: parts.encoded, length });
}

function replaceLevels(state: TextState, id: number, now: Tally, before: Tally): void {
  writeWaiting(state.waiting, state.stems);
  for (let index = 0; index < now.stemCount; index += 1) {
    const stem = now.stems[index] as number;
    setStemLevel(state.stems, stem, id, levelInTally(now, stem));
  }
  forget(state, before, id, now);
}

function removeText(parts: IndexParts, id: number): void {
  const { state, derived, before } = parts;
  if (slabOf(state.sequences, id) === null) return;
  tallyStored(parts, id);
  writeWaiting(state.waiting, state.stems);
  forget(state, before, id, null);
  dropRun(state.sequences, id);
  state.listings -= 1;
  followRemoval(derived, id);
}

function tallyStored(parts: IndexParts, id: number): void {
  const { tokens, count } = listingTokens(parts.state, id);
  tallyTokens(parts.before, parts.state.words, tokens, count);
}

/** Takes a listing out of the sets of its old words, but for the stems it still has. */
function forget(state: TextState, before: Tally, id: number, now: Tally | null): void {
  for (let index = 0; index < before.stemCount; index += 1) {
    const stem = before.stems[index] as number;
    if (now === null || levelInTally(now, stem) === 0) setStemLevel(state.stems, stem, id, 0);
  }
  for (let index = 0; index < before.wordCount; index += 1) discountListing(state.words, before.words[index] as number);
}

/** The new text of a listing: its encoded tokens, and their tally. */
interface TalliedText {
  readonly tally: Tally;
  readonly encoded: Uint8Array;
  readonly length: number;
}

/** Brings all derived sets in step with the new text of a listing. */
function followListing(sets: DerivedSets, state: TextState, id: number, now: TalliedText): void {
  for (const { touched } of sets.building.values()) touched.push(id);
  if (sets.watchers.size > 0) followBeginnings(sets, state, now.tally);
  for (const entry of sets.entries.values()) {
    if (entry.posting === null) continue;
    const level = entry.kind === 'phrase' ? phraseNow(state, entry, now) : beginningNow(state, entry, now.tally);
    if (levelOf(entry.posting, id) !== level) setLevel(entry.posting, id, level);
  }
}

function followRemoval(sets: DerivedSets, id: number): void {
  for (const { touched } of sets.building.values()) touched.push(id);
  for (const entry of sets.entries.values()) {
    if (entry.posting !== null) setLevel(entry.posting, id, 0);
  }
}

/** Goes by the words of the listing, as few of them have a beginning that is watched, and leaves the levels in `pending`. */
function followBeginnings(sets: DerivedSets, state: TextState, tally: Tally): void {
  const { groups, texts, stems } = state.words;
  for (let index = 0; index < tally.wordCount; index += 1) {
    const word = tally.words[index] as number;
    const watching = sets.watchers.get(groups[word] as number);
    if (watching === undefined) continue;
    for (const entry of watching) {
      if (!(texts[word] ?? '').startsWith(entry.words[0] ?? '')) continue;
      const stem = stems[word] as number;
      if (entry.posting !== null) entry.pending = Math.max(entry.pending, levelInTally(tally, stem));
      // The typed stem alone is no longer the answer: the next query that needs the set builds it again.
      else if (state.stems.texts[stem] !== entry.stem) dropDerived(sets, entry.key);
    }
  }
}

function beginningNow(state: TextState, entry: DerivedEntry, tally: Tally): number {
  const typed = state.stems.ids.get(entry.stem);
  const level = Math.max(entry.pending, typed === undefined ? 0 : levelInTally(tally, typed));
  entry.pending = 0;
  return level;
}

function phraseNow(state: TextState, entry: DerivedEntry, now: TalliedText): number {
  for (const text of entry.words) {
    const word = wordId(state.words, text);
    if (word === 0 || !hasWord(now.tally, word)) return 0;
  }
  const needle = encodePhrase(state, entry.words);
  return needle !== null && hasInRow(now.encoded, 0, now.length, needle) ? 1 : 0;
}
