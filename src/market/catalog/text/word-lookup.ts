import { withCapacity } from '../byte-runs.ts';

/** Hash table (linear probing) that finds words within a longer text. A Map would need a string per lookup: half of the indexing time. */
export interface WordSlots {
  /** Number and hash alternate. The number 0 marks an empty slot. */
  slots: Uint32Array;
  count: number;
}

const FIRST_SIZE = 1024;

export function createWordSlots(): WordSlots {
  return { slots: new Uint32Array(FIRST_SIZE * 2), count: 0 };
}

export function hashOf(codes: Uint16Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (codes[at] as number), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

/** Returns the number of the word from `start` to `end`, or 0 if it is unknown. */
export function findWord(
  table: WordSlots,
  chars: WordChars,
  hash: number,
  codes: Uint16Array,
  start: number,
  end: number,
): number {
  const { slots } = table;
  const mask = slots.length - 1;
  let at = (hash * 2) & mask;
  for (;;) {
    const id = slots[at] as number;
    if (id === 0) return 0;
    if (slots[at + 1] === hash && isWord(chars, id, codes, start, end)) return id;
    at = (at + 2) & mask;
  }
}

export function addSlot(table: WordSlots, id: number, hash: number): void {
  // Keep the table at most half full, so that probes stay short.
  if (table.count * 4 >= table.slots.length) growSlots(table);
  table.count += 1;
  insertSlot(table.slots, id, hash);
}

export function removeSlot(table: WordSlots, id: number, hash: number): void {
  const { slots } = table;
  const mask = slots.length - 1;
  let hole = (hash * 2) & mask;
  while (slots[hole] !== id) hole = (hole + 2) & mask;
  table.count -= 1;
  // Move back entries that were pushed past the hole, so that no search ends too early.
  for (let at = (hole + 2) & mask; slots[at] !== 0; at = (at + 2) & mask) {
    const home = ((slots[at + 1] as number) * 2) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    slots[hole] = slots[at] as number;
    slots[hole + 1] = slots[at + 1] as number;
    hole = at;
  }
  slots[hole] = 0;
}

function insertSlot(slots: Uint32Array, id: number, hash: number): void {
  const mask = slots.length - 1;
  let at = (hash * 2) & mask;
  while (slots[at] !== 0) at = (at + 2) & mask;
  slots[at] = id;
  slots[at + 1] = hash;
}

function growSlots(table: WordSlots): void {
  const old = table.slots;
  table.slots = new Uint32Array(old.length * 2);
  for (let at = 0; at < old.length; at += 2) {
    if (old[at] !== 0) insertSlot(table.slots, old[at] as number, old[at + 1] as number);
  }
}

/** Characters of all words, because comparing strings is slow. A word's length precedes its characters, to read both in one access. */
export interface WordChars {
  codes: Uint16Array;
  end: number;
  /** Start by word number, or 0 if no word has this number. */
  starts: Uint32Array;
}

export function createWordChars(): WordChars {
  return { codes: new Uint16Array(8_192), end: 1, starts: new Uint32Array(1_024) };
}

function isWord(chars: WordChars, id: number, codes: Uint16Array, start: number, end: number): boolean {
  const own = chars.codes;
  let index = chars.starts[id] as number;
  if (own[index] !== end - start) return false;
  for (let at = start; at < end; at += 1) {
    index += 1;
    if (own[index] !== codes[at]) return false;
  }
  return true;
}

export function addChars(chars: WordChars, id: number, codes: Uint16Array, start: number, end: number): void {
  const length = end - start;
  if (id >= chars.starts.length) chars.starts = withCapacity(chars.starts, id);
  if (chars.end + length + 1 > chars.codes.length) makeRoom(chars, length + 1);
  chars.codes[chars.end] = length;
  chars.codes.set(codes.subarray(start, end), chars.end + 1);
  chars.starts[id] = chars.end;
  chars.end += length + 1;
}

export function dropChars(chars: WordChars, id: number): void {
  chars.starts[id] = 0;
}

export function charsBytes(chars: WordChars): number {
  return chars.codes.byteLength + chars.starts.byteLength;
}

/** Moves the characters still in use to an array with as much room again. */
function makeRoom(chars: WordChars, wanted: number): void {
  let used = wanted + 1;
  for (const start of chars.starts) if (start !== 0) used += (chars.codes[start] as number) + 1;
  const codes = new Uint16Array(used * 2);
  let end = 1;
  for (let id = 0; id < chars.starts.length; id += 1) {
    const start = chars.starts[id] as number;
    if (start === 0) continue;
    const size = (chars.codes[start] as number) + 1;
    codes.set(chars.codes.subarray(start, start + size), end);
    chars.starts[id] = end;
    end += size;
  }
  chars.codes = codes;
  chars.end = end;
}
