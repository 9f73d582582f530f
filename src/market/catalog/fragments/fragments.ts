import { hash } from 'node:crypto';
import { compactStep, createCompaction } from './compaction.ts';
import { createFragmentColumns, type FragmentColumns, reachId } from './fragment-columns.ts';
import { joinHeads, joinWhole } from './join-fragments.ts';
import { createSlabs, discard, reserve, type Slabs } from './slabs.ts';

const SLAB_BYTES = 16 * 1024 * 1024;
const SMALLEST_SLAB_BYTES = 64 * 1024;

/** A small budget has small slabs, so that half-empty ones stay a small part of it. */
const SLABS_PER_BUDGET = 64;

/** Garbage is an eighth of what is held at most, but for a few slabs: one is filled while another one is emptied. */
const HELD_SHARE = 8 / 9;
const SLABS_BESIDE = 4;
/** However large a slab is beside the budget. */
const LEAST_HELD_SHARE = 5 / 6;

const STAMP_BYTES = 8;

/** The JSON text of each listing summary, ready to be copied into a page. */
export interface Fragments {
  /** `head` bytes and a closing brace are the outline. What was captured of an older version stays as it is. */
  put(id: number, bytes: Uint8Array, head: number): void;
  /** 0: unknown id. */
  size(id: number): number;
  head(id: number): number;
  /** Another number after each put that changed something; 0: unknown id. */
  version(id: number): number;
  /** False: left memory, or unknown. */
  held(id: number): boolean;
  /** Bytes written; 0 where the fragment is not held. */
  copy(id: number, target: Uint8Array, at: number): number;
  /** No copy; null where the fragment is not held. */
  view(id: number): Uint8Array | null;
  /** All of them with commas between; gives the place behind the last byte, or -1 when one is not held. */
  join(ids: readonly number[], target: Uint8Array, at: number): number;
  /** The same with outlines. */
  joinOutlines(ids: readonly number[], target: Uint8Array, at: number): number;
  /** 64 bits of the SHA-256 of the fragment, 8 bytes; known also of those that left memory. */
  stampInto(id: number, target: Uint8Array, at: number): void;
  bytes(): { held: number; garbage: number };
}

/** Above the budget the fragments of the lowest ids leave memory: those of the oldest listings, which are asked for least. */
export function createFragments(options: { budgetBytes: number; slabBytes?: number }): Fragments {
  const { budgetBytes } = options;
  const smallEnough = Math.max(SMALLEST_SLAB_BYTES, Math.floor(budgetBytes / SLABS_PER_BUDGET));
  const slabBytes = Math.min(options.slabBytes ?? SLAB_BYTES, smallEnough);
  const slabs = createSlabs(slabBytes);
  const columns = createFragmentColumns();
  const compaction = createCompaction();
  const mostHeld = Math.max(budgetBytes * LEAST_HELD_SHARE, (budgetBytes - SLABS_BESIDE * slabBytes) * HELD_SHARE);
  // Ids below are never held again: whoever must leave first has no claim to come back before the others.
  let lowestHeld = 1;
  let puts = 0;

  return {
    put(id, bytes, head) {
      const size = bytes.length;
      if (!(head > 0 && head < size)) throw new RangeError(`fragment ${id} has no outline: ${head} of ${size} bytes`);
      reachId(columns, id);
      if (isSame(slabs, columns, id, bytes, head)) return;
      dropFragment(slabs, columns, id);
      describe(columns, id, bytes, head);
      puts = (puts + 1) >>> 0 || 1;
      columns.version[id] = puts;
      if (id >= lowestHeld) place(slabs, columns, id, bytes);
      else writeStamp(columns, id, bytes);
      for (; slabs.held > mostHeld; lowestHeld++) {
        stampHeld(slabs, columns, lowestHeld);
        dropFragment(slabs, columns, lowestHeld);
      }
      compactStep(compaction, slabs, columns, lowestHeld, size);
    },
    size: (id) => columns.size[id] ?? 0,
    head: (id) => columns.head[id] ?? 0,
    version: (id) => columns.version[id] ?? 0,
    held: (id) => (columns.slab[id] ?? 0) !== 0,
    copy(id, target, at) {
      const slab = slabs.table[columns.slab[id] ?? 0];
      if (!slab) return 0;
      const from = columns.at[id] ?? 0;
      return slab.bytes.copy(target, at, from, from + (columns.size[id] ?? 0));
    },
    view(id) {
      const slab = slabs.table[columns.slab[id] ?? 0];
      if (!slab) return null;
      const from = columns.at[id] ?? 0;
      return slab.bytes.subarray(from, from + (columns.size[id] ?? 0));
    },
    join: (ids, target, at) => joinWhole(slabs, columns, ids, target, at),
    joinOutlines: (ids, target, at) => joinHeads(slabs, columns, ids, target, at),
    stampInto(id, target, at) {
      const { stamp } = columns;
      const from = id * STAMP_BYTES;
      stampHeld(slabs, columns, id);
      for (let byte = 0; byte < STAMP_BYTES; byte++) target[at + byte] = stamp[from + byte] ?? 0;
    },
    bytes: () => ({ held: slabs.held, garbage: slabs.garbage }),
  };
}

/** The bytes are compared, not the stamps: two texts of one stamp can be made by somebody who wants them. */
function isSame(slabs: Slabs, columns: FragmentColumns, id: number, bytes: Uint8Array, head: number): boolean {
  const slab = slabs.table[columns.slab[id] ?? 0];
  if (!slab || columns.size[id] !== bytes.length || columns.head[id] !== head) return false;
  const from = columns.at[id] ?? 0;
  return slab.bytes.compare(bytes, 0, bytes.length, from, from + bytes.length) === 0;
}

function describe(columns: FragmentColumns, id: number, bytes: Uint8Array, head: number): void {
  columns.size[id] = bytes.length;
  columns.head[id] = head;
  columns.stamp.fill(0, id * STAMP_BYTES, (id + 1) * STAMP_BYTES);
}

/** Made when it is first asked for, or at the latest when the bytes leave memory: a first load would spend a tenth of its time on them. */
function stampHeld(slabs: Slabs, columns: FragmentColumns, id: number): void {
  const slab = slabs.table[columns.slab[id] ?? 0];
  if (!slab || hasStamp(columns, id)) return;
  const from = columns.at[id] ?? 0;
  writeStamp(columns, id, slab.bytes.subarray(from, from + (columns.size[id] ?? 0)));
}

/** A stamp that is nothing but zeros by chance is made each time anew, and is right each time. */
function hasStamp({ stamp }: FragmentColumns, id: number): boolean {
  const end = (id + 1) * STAMP_BYTES;
  for (let at = id * STAMP_BYTES; at < end; at++) if (stamp[at] !== 0) return true;
  return false;
}

function writeStamp(columns: FragmentColumns, id: number, bytes: Uint8Array): void {
  const digest = hash('sha256', bytes, 'buffer');
  const from = id * STAMP_BYTES;
  for (let byte = 0; byte < STAMP_BYTES; byte++) columns.stamp[from + byte] = digest[byte] ?? 0;
}

function place(slabs: Slabs, columns: FragmentColumns, id: number, bytes: Uint8Array): void {
  const slab = reserve(slabs, bytes.length);
  slab.bytes.set(bytes, slab.from + 1);
  columns.slab[id] = slab.number;
  columns.at[id] = slab.from + 1;
}

function dropFragment(slabs: Slabs, columns: FragmentColumns, id: number): void {
  const slab = slabs.table[columns.slab[id] ?? 0];
  if (!slab) return;
  columns.slab[id] = 0;
  discard(slabs, slab, columns.size[id] ?? 0);
}
