import { withCapacity } from '../byte-runs.ts';
import { FIRST_WORD } from './tokens.ts';

/** Finds the listings whose title has exactly the given words, in any order. Listings with one hash are a doubly linked list. */
export interface TitleTable {
  /** First listing by hash. */
  heads: Uint32Array;
  /** By listing: the next and the previous one of its list, and the hash of its title. */
  next: Uint32Array;
  previous: Uint32Array;
  hashes: Uint32Array;
  count: number;
}

const FIRST_SIZE = 1_024;

export function createTitleTable(): TitleTable {
  return {
    heads: new Uint32Array(FIRST_SIZE),
    next: new Uint32Array(0),
    previous: new Uint32Array(0),
    hashes: new Uint32Array(0),
    count: 0,
  };
}

/** Returns the distinct words of a listing's title: all tokens up to the first mark. */
export function titleWords(tokens: Uint32Array, count: number): Set<number> {
  const words = new Set<number>();
  for (let index = 0; index < count && (tokens[index] as number) >= FIRST_WORD; index += 1)
    words.add(tokens[index] as number);
  return words;
}

/** Returns a hash that is the same for any order of the words, and 0 if there are none. */
export function wordsHash(words: ReadonlySet<number>): number {
  let sum = 0;
  for (const word of words) sum = (sum + mixBits(word)) >>> 0;
  return words.size === 0 ? 0 : mixBits(sum + words.size) || 1;
}

function mixBits(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export function addTitle(table: TitleTable, id: number, hash: number): void {
  if (id >= table.next.length) growListings(table, id);
  if (hash === 0) return;
  if (table.count >= table.heads.length) growHeads(table);
  table.hashes[id] = hash;
  table.count += 1;
  link(table, id);
}

export function dropTitle(table: TitleTable, id: number): void {
  const hash = table.hashes[id] ?? 0;
  if (hash === 0) return;
  const [next, previous] = [table.next[id] as number, table.previous[id] as number];
  if (previous === 0) table.heads[slotOf(table, hash)] = next;
  else table.next[previous] = next;
  if (next !== 0) table.previous[next] = previous;
  table.hashes[id] = 0;
  table.count -= 1;
}

/** Visits the listings whose title has this hash. Another title may have the same one. */
export function forEachTitled(table: TitleTable, hash: number, visit: (id: number) => void): void {
  for (let id = table.heads[slotOf(table, hash)] as number; id !== 0; id = table.next[id] as number) {
    if (table.hashes[id] === hash) visit(id);
  }
}

export function titleBytes({ heads, next, previous, hashes }: TitleTable): number {
  return heads.byteLength + next.byteLength + previous.byteLength + hashes.byteLength;
}

/** Fills an empty table with the hashes of saved titles. Then call `linkTitles` for all listings. */
export function restoreTitles(table: TitleTable, hashes: Uint32Array): void {
  growListings(table, Math.max(0, hashes.length - 1));
  table.hashes.set(hashes);
  for (const hash of hashes) if (hash !== 0) table.count += 1;
  table.heads = withCapacity(table.heads, table.count);
}

export function linkTitles(table: TitleTable, from: number, to: number): void {
  for (let id = from; id < to; id += 1) if (table.hashes[id] !== 0) link(table, id);
}

const slotOf = ({ heads }: TitleTable, hash: number): number => hash & (heads.length - 1);

function link(table: TitleTable, id: number): void {
  const slot = slotOf(table, table.hashes[id] as number);
  const head = table.heads[slot] as number;
  table.next[id] = head;
  table.previous[id] = 0;
  if (head !== 0) table.previous[head] = id;
  table.heads[slot] = id;
}

function growListings(table: TitleTable, id: number): void {
  table.next = withCapacity(table.next, id);
  table.previous = withCapacity(table.previous, id);
  table.hashes = withCapacity(table.hashes, id);
}

function growHeads(table: TitleTable): void {
  table.heads = new Uint32Array(table.heads.length * 2);
  linkTitles(table, 1, table.hashes.length);
}
