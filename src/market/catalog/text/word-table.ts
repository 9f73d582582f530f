import { withCapacity } from '../byte-runs.ts';
import { stemOf } from './stem.ts';
import { holdStem, releaseStem, type StemTable } from './stem-table.ts';
import { createCodeBuffer, isPair, writeCodes } from './tokenize.ts';
import { FIRST_WORD } from './tokens.ts';
import {
  addChars,
  addSlot,
  charsBytes,
  createWordChars,
  createWordSlots,
  dropChars,
  findWord,
  hashOf,
  removeSlot,
  type WordChars,
  type WordSlots,
} from './word-lookup.ts';

/** All words of live listings, by number. A word that leaves its last listing frees its number, so that edits cannot fill the memory. */
export interface WordTable {
  readonly slots: WordSlots;
  readonly chars: WordChars;
  readonly texts: string[];
  readonly stemTable: StemTable;
  readonly free: number[];
  /** Number of removed words. While it is unchanged, every number keeps its word. */
  removals: number;
  listings: Uint32Array;
  stems: Uint32Array;
  /** One bit per letter of the word. Words with a similar spelling have similar masks. */
  masks: Uint32Array;
  /** Groups words by their first three characters, and pairs by their first, to find beginnings. Shorter words are in no group (0). */
  groups: Uint32Array;
  groupIndexes: Uint32Array;
  readonly groupIds: Map<string, number>;
  readonly groupWords: number[][];
}

export const SHORTEST_BEGINNING = 3;

export function createWordTable(stemTable: StemTable): WordTable {
  return {
    slots: createWordSlots(),
    chars: createWordChars(),
    texts: new Array(FIRST_WORD).fill(''),
    stemTable,
    free: [],
    removals: 0,
    listings: new Uint32Array(0),
    stems: new Uint32Array(0),
    masks: new Uint32Array(0),
    groups: new Uint32Array(0),
    groupIndexes: new Uint32Array(0),
    groupIds: new Map(),
    groupWords: [[]],
  };
}

const lookupBuffer = createCodeBuffer();

/** Returns the number of a word, or 0 if no live listing has it. */
export function wordId(table: WordTable, word: string): number {
  const codes = writeCodes(lookupBuffer, word);
  const hash = hashOf(codes, 0, word.length);
  return findWord(table.slots, table.chars, hash, codes, 0, word.length);
}

/** Returns the number of a word within a text, adding it if it is new. The caller must count a listing for it. */
export function internWord(table: WordTable, codes: Uint16Array, start: number, end: number): number {
  const hash = hashOf(codes, start, end);
  const existing = findWord(table.slots, table.chars, hash, codes, start, end);
  return existing === 0 ? addWord(table, codes, start, end, hash) : existing;
}

function addWord(table: WordTable, codes: Uint16Array, start: number, end: number, hash: number): number {
  const word = String.fromCharCode(...codes.subarray(start, end));
  const id = table.free.pop() ?? table.texts.length;
  addSlot(table.slots, id, hash);
  addChars(table.chars, id, codes, start, end);
  placeWord(table, id, word, holdStem(table.stemTable, stemOf(word)));
  return id;
}

function placeWord(table: WordTable, id: number, word: string, stem: number): void {
  if (id >= table.listings.length) growColumns(table, id);
  table.texts[id] = word;
  table.listings[id] = 0;
  table.stems[id] = stem;
  table.masks[id] = letterMask(word);
  const group = groupOf(table, word);
  table.groups[id] = group;
  if (group !== 0) {
    const members = table.groupWords[group] ?? [];
    table.groupIndexes[id] = members.length;
    members.push(id);
  }
}

/** Adds the next word of a saved index, or a free number if the text is empty. */
export function restoreWord(table: WordTable, word: string, stem: number, listings: number): void {
  const id = table.texts.length;
  if (word === '') {
    table.texts.push('');
    table.free.push(id);
    return;
  }
  const codes = writeCodes(lookupBuffer, word);
  addSlot(table.slots, id, hashOf(codes, 0, word.length));
  addChars(table.chars, id, codes, 0, word.length);
  const stemText = table.stemTable.texts[stem];
  // Most words are their own stem: keep their text once.
  placeWord(table, id, stemText === word ? stemText : word, stem);
  table.listings[id] = listings;
  table.stemTable.words[stem] = (table.stemTable.words[stem] ?? 0) + 1;
}

export function countListing(table: WordTable, id: number): void {
  table.listings[id] = (table.listings[id] as number) + 1;
}

export function discountListing(table: WordTable, id: number): void {
  const left = (table.listings[id] as number) - 1;
  table.listings[id] = left;
  if (left === 0) removeWord(table, id);
}

function removeWord(table: WordTable, id: number): void {
  const text = table.texts[id] ?? '';
  removeSlot(table.slots, id, hashOf(writeCodes(lookupBuffer, text), 0, text.length));
  dropChars(table.chars, id);
  table.texts[id] = '';
  releaseStem(table.stemTable, table.stems[id] as number);
  const group = table.groups[id] as number;
  const members = table.groupWords[group];
  const last = members?.pop();
  if (members !== undefined && last !== undefined && last !== id) {
    const index = table.groupIndexes[id] as number;
    members[index] = last;
    table.groupIndexes[last] = index;
  }
  table.free.push(id);
  table.removals += 1;
}

/** Returns the group of words that begin like this one, or 0 if it is too short. */
export function groupOf(table: WordTable, word: string): number {
  const start = startOf(word);
  if (start === null) return 0;
  const existing = table.groupIds.get(start);
  if (existing !== undefined) return existing;
  const group = table.groupWords.length;
  table.groupIds.set(start, group);
  table.groupWords.push([]);
  return group;
}

/** Returns what all words of a group begin with, or null for a word without a group. */
function startOf(word: string): string | null {
  if (isPair(word)) return String.fromCodePoint(word.codePointAt(0) ?? 0);
  return word.length < SHORTEST_BEGINNING ? null : word.slice(0, SHORTEST_BEGINNING);
}

/** Returns all words that have this beginning, and some others. */
export function wordsLike(table: WordTable, beginning: string): readonly number[] {
  const group = table.groupIds.get(startOf(beginning) ?? '');
  return group === undefined ? [] : (table.groupWords[group] ?? []);
}

export function letterMask(word: string): number {
  let mask = 0;
  for (let at = 0; at < word.length; at += 1) mask |= 1 << (word.charCodeAt(at) & 31);
  return mask >>> 0;
}

/** Estimates the size, because the runtime's own overhead cannot be measured. */
export function wordBytes(table: WordTable): number {
  return table.slots.slots.byteLength + charsBytes(table.chars) + table.slots.count * 110 + table.listings.length * 20;
}

function growColumns(table: WordTable, id: number): void {
  table.listings = withCapacity(table.listings, id);
  table.stems = withCapacity(table.stems, id);
  table.masks = withCapacity(table.masks, id);
  table.groups = withCapacity(table.groups, id);
  table.groupIndexes = withCapacity(table.groupIndexes, id);
}
