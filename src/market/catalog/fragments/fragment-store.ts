import { createFragmentColumns, type FragmentColumns } from './fragment-columns.ts';
import { createSlabs, discard, reserve, type Slab, type Slabs } from './slabs.ts';

/** Where fragments lie. What most of them have in the middle is kept once. */
export interface FragmentStore {
  readonly slabs: Slabs;
  readonly columns: FragmentColumns;
  /** May be empty. */
  readonly middle: Buffer;
}

export function createFragmentStore(slabBytes: number, middle: Uint8Array): FragmentStore {
  return { slabs: createSlabs(slabBytes), columns: createFragmentColumns(), middle: Buffer.from(middle) };
}

/** What the fragment takes in its slab, without its comma. */
export function storedSize({ columns, middle }: FragmentStore, id: number): number {
  const size = columns.size[id] ?? 0;
  return columns.cut[id] === 0 ? size : size - middle.length;
}

/** Behind the outline, so that this lies in one piece; 0: the fragment does not have the usual middle. */
export function cutOf({ middle }: FragmentStore, bytes: Uint8Array, head: number): number {
  if (middle.length === 0) return 0;
  return Math.max(0, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(middle, head));
}

/** The columns say already how long it is and where it is cut. */
export function placeFragment(store: FragmentStore, id: number, bytes: Uint8Array): void {
  const { slabs, columns, middle } = store;
  const slab = reserve(slabs, storedSize(store, id));
  const from = slab.from + 1;
  const cut = columns.cut[id] ?? 0;
  if (cut === 0) slab.bytes.set(bytes, from);
  else {
    slab.bytes.set(bytes.subarray(0, cut), from);
    slab.bytes.set(bytes.subarray(cut + middle.length), from + cut);
  }
  columns.slab[id] = slab.number;
  columns.at[id] = from;
}

/** Null: it is not in memory. */
export function slabOf({ slabs, columns }: FragmentStore, id: number): Slab | null {
  return slabs.table[columns.slab[id] ?? 0] ?? null;
}

/** Bytes written; 0 where the fragment is not in memory. */
export function copyFragment(store: FragmentStore, id: number, target: Uint8Array, at: number): number {
  const slab = slabOf(store, id);
  if (slab === null) return 0;
  const { columns, middle } = store;
  const from = columns.at[id] ?? 0;
  const to = from + storedSize(store, id);
  const cut = columns.cut[id] ?? 0;
  if (cut === 0) return slab.bytes.copy(target, at, from, to);
  let written = slab.bytes.copy(target, at, from, from + cut);
  written += middle.copy(target, at + written);
  return written + slab.bytes.copy(target, at + written, from + cut, to);
}

/** Of the slab where the fragment lies there in one piece, else a copy; null where it is not in memory. */
export function viewFragment(store: FragmentStore, id: number): Uint8Array | null {
  const slab = slabOf(store, id);
  if (slab === null) return null;
  const from = store.columns.at[id] ?? 0;
  const size = store.columns.size[id] ?? 0;
  if (store.columns.cut[id] === 0) return slab.bytes.subarray(from, from + size);
  const whole = Buffer.allocUnsafeSlow(size);
  copyFragment(store, id, whole, 0);
  return whole;
}

/** Whether these bytes, to be cut at `cut`, are what is there. */
export function isStored(store: FragmentStore, id: number, bytes: Uint8Array, cut: number): boolean {
  const slab = slabOf(store, id);
  const { columns, middle } = store;
  if (slab === null || columns.size[id] !== bytes.length || columns.cut[id] !== cut) return false;
  const from = columns.at[id] ?? 0;
  const to = from + storedSize(store, id);
  if (cut === 0) return slab.bytes.compare(bytes, 0, bytes.length, from, to) === 0;
  const isSameBefore = slab.bytes.compare(bytes, 0, cut, from, from + cut) === 0;
  return isSameBefore && slab.bytes.compare(bytes, cut + middle.length, bytes.length, from + cut, to) === 0;
}

export function dropFragment(store: FragmentStore, id: number): void {
  const slab = slabOf(store, id);
  if (slab === null) return;
  store.columns.slab[id] = 0;
  discard(store.slabs, slab, storedSize(store, id));
}
