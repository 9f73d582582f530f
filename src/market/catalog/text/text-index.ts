import { compileQuery, prepareQuery, type Search } from './compile-query.ts';
import { createDerivedSets, type DerivedSets } from './derived-sets.ts';
import { followListing, followRemoval } from './follow-listing.ts';
import { listingTokens } from './listing-tokens.ts';
import type { ParsedQuery } from './parse-query.ts';
import { createSequences, dropSequence, hasSequence, isSequence, putSequence, sequenceBytes } from './sequences.ts';
import { createStemTable, setStemLevel } from './stem-table.ts';
import { suggestQuery } from './suggest-query.ts';
import { createTally, levelInTally, type Tally, tallyTokens } from './tally.ts';
import type { TextState } from './text-state.ts';
import { BREAK, END_OF_FIELD, encodeTokens, MOST_BYTES } from './token-codec.ts';
import { readWords, type WordSink } from './tokenize.ts';
import { addWaiting, createWaitingLevels, waitingBytes, writeWaiting } from './waiting-levels.ts';
import { countListing, createWordTable, discountListing, internWord, wordBytes } from './word-table.ts';

/** What everybody may read of a listing. Nothing else is ever indexed. */
export interface ListingText {
  title: string;
  tags: readonly string[];
  merchant: string;
  description: string;
  preview: string;
}

export interface TextIndex {
  /** Adds or replaces. The same text again changes nothing and costs little. */
  put(id: number, text: ListingText): void;
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

export type { Search } from './compile-query.ts';

interface Parts {
  readonly state: TextState;
  readonly derived: DerivedSets;
  /** Of the text that is put, and of the one it replaces. */
  readonly now: Tally;
  readonly before: Tally;
  tokens: Uint32Array;
  count: number;
  encoded: Uint8Array;
  readonly sink: WordSink;
}

export function createTextIndex(options: { giveWay(): Promise<void> }): TextIndex {
  const stems = createStemTable();
  const state: TextState = {
    words: createWordTable(stems),
    stems,
    sequences: createSequences(),
    waiting: createWaitingLevels(),
    listings: 0,
    highest: 0,
  };
  const derived = createDerivedSets(() => options.giveWay());
  const parts = createParts(state, derived);
  const whole = (): TextState => {
    writeWaiting(state.waiting, stems);
    return state;
  };
  return {
    put: (id, text) => putText(parts, id, text),
    remove: (id) => removeText(parts, id),
    compile: (query) => compileQuery(derived, whole(), query),
    prepare: (query) => prepareQuery(derived, whole(), query),
    suggest: (query, matches) => suggestQuery(whole(), query, matches),
    bytes: () =>
      sequenceBytes(state.sequences) +
      stems.bytes +
      wordBytes(state.words) +
      waitingBytes(state.waiting) +
      derived.bytes,
    listings: () => state.listings,
    terms: () => state.words.slots.count,
  };
}

function createParts(state: TextState, derived: DerivedSets): Parts {
  const parts: Parts = {
    state,
    derived,
    now: createTally(),
    before: createTally(),
    tokens: new Uint32Array(4096),
    count: 0,
    encoded: new Uint8Array(4096 * MOST_BYTES),
    sink: (codes, start, end) => addToken(parts, internWord(state.words, codes, start, end)),
  };
  return parts;
}

function putText(parts: Parts, id: number, text: ListingText): void {
  const { state, derived, now, before } = parts;
  readText(parts, text);
  const length = encodeTokens(parts.tokens, parts.count, parts.encoded);
  // The text says everything about a listing's place in the index, so the same text means that nothing is to be done.
  if (isSequence(state.sequences, id, parts.encoded, length)) return;
  const isNew = !hasSequence(state.sequences, id);
  if (isNew) state.listings += 1;
  else tallyStored(parts, id);
  tallyTokens(now, state.words, parts.tokens, parts.count);
  // Counted before the old words are discounted: a word that stays must not leave in between.
  for (let index = 0; index < now.wordCount; index += 1) countListing(state.words, now.words[index] as number);
  if (isNew) {
    for (let index = 0; index < now.stemCount; index += 1) {
      const stem = now.stems[index] as number;
      addWaiting(state.waiting, state.stems, stem, id, levelInTally(now, stem));
    }
  } else replaceLevels(state, id, now, before);
  putSequence(state.sequences, id, parts.encoded, length);
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

function removeText(parts: Parts, id: number): void {
  const { state, derived, before } = parts;
  if (!hasSequence(state.sequences, id)) return;
  tallyStored(parts, id);
  writeWaiting(state.waiting, state.stems);
  forget(state, before, id, null);
  dropSequence(state.sequences, id);
  state.listings -= 1;
  followRemoval(derived, id);
}

function tallyStored(parts: Parts, id: number): void {
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

function readText(parts: Parts, text: ListingText): void {
  parts.count = 0;
  addWords(parts, text.title, END_OF_FIELD);
  for (const tag of text.tags) addWords(parts, tag, BREAK);
  addWords(parts, '', END_OF_FIELD);
  addWords(parts, text.merchant, END_OF_FIELD);
  addWords(parts, text.description, END_OF_FIELD);
  addWords(parts, text.preview, END_OF_FIELD);
}

function addWords(parts: Parts, text: string, mark: number): void {
  readWords(text, parts.sink);
  addToken(parts, mark);
}

function addToken(parts: Parts, token: number): void {
  if (parts.count === parts.tokens.length) {
    const grown = new Uint32Array(parts.count * 2);
    grown.set(parts.tokens);
    parts.tokens = grown;
    parts.encoded = new Uint8Array(grown.length * MOST_BYTES);
  }
  parts.tokens[parts.count] = token;
  parts.count += 1;
}
