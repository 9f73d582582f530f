import { isWord, type WordChars } from './word-chars.ts';

/**
 * Finds the number of a word from its characters within a longer text. A Map would need a string for each word that is looked up,
 * and its hash: half of the time of indexing. Open addressing with linear steps; each number is stored next to its hash.
 */
export interface WordSlots {
  /** Number and hash in turn; number 0 is an empty slot. */
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

/** The number of the word that stands from `start` to `end`; 0 when it is unknown. */
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
  // At most half full, so that the way to an empty slot is short.
  if (table.count * 4 >= table.slots.length) grow(table);
  table.count += 1;
  place(table.slots, id, hash);
}

export function removeSlot(table: WordSlots, id: number, hash: number): void {
  const { slots } = table;
  const mask = slots.length - 1;
  let hole = (hash * 2) & mask;
  while (slots[hole] !== id) hole = (hole + 2) & mask;
  table.count -= 1;
  // Whatever was pushed past the hole moves back, so that no search ends too early.
  for (let at = (hole + 2) & mask; slots[at] !== 0; at = (at + 2) & mask) {
    const home = ((slots[at + 1] as number) * 2) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    slots[hole] = slots[at] as number;
    slots[hole + 1] = slots[at + 1] as number;
    hole = at;
  }
  slots[hole] = 0;
}

function place(slots: Uint32Array, id: number, hash: number): void {
  const mask = slots.length - 1;
  let at = (hash * 2) & mask;
  while (slots[at] !== 0) at = (at + 2) & mask;
  slots[at] = id;
  slots[at + 1] = hash;
}

function grow(table: WordSlots): void {
  const old = table.slots;
  table.slots = new Uint32Array(old.length * 2);
  for (let at = 0; at < old.length; at += 2) {
    if (old[at] !== 0) place(table.slots, old[at] as number, old[at + 1] as number);
  }
}
