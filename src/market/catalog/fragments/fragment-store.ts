import { type ByteRuns, createByteRuns, isRun, putRun, slabOf } from '../byte-runs.ts';
import { grown } from '../grown.ts';

/** Ids end here, so that an id times eight still fits 32 bits. */
const LAST_ID = 2 ** 29 - 1;
const COMMA = Buffer.from(',');

/** Where fragments lie, each behind a comma, and what is known of each by id. What most of them have in the middle is kept once. */
export interface FragmentStore {
  readonly runs: ByteRuns;
  /** May be empty. */
  readonly middle: Buffer;
  /** Of the whole fragment; zero in this and all that follow: an unknown id. */
  size: Uint32Array;
  head: Uint32Array;
  /** Where in the fragment the usual middle belongs, which is not stored with it; 0: nowhere. */
  cut: Uint32Array;
  version: Uint32Array;
  /** Two numbers of 32 bits each. */
  stamp: Uint32Array;
}

export function createFragmentStore(slabBytes: number, middle: Uint8Array): FragmentStore {
  const none = new Uint32Array(0);
  const columns = { size: none, head: none, cut: none, version: none, stamp: none };
  return { runs: createByteRuns(slabBytes), middle: Buffer.from(middle), ...columns };
}

/** Makes room for an id. */
export function reachId(store: FragmentStore, id: number): void {
  if (!Number.isInteger(id) || id < 1 || id > LAST_ID) throw new RangeError(`not a listing id: ${id}`);
  if (id < store.size.length) return;
  store.size = grown(store.size, id);
  store.head = grown(store.head, id);
  store.cut = grown(store.cut, id);
  store.version = grown(store.version, id);
  store.stamp = grown(store.stamp, store.size.length * 2 - 1);
}

/** Behind the outline, so that this lies in one piece; 0: the fragment does not have the usual middle. */
export function cutOf({ middle }: FragmentStore, bytes: Uint8Array, head: number): number {
  if (middle.length === 0) return 0;
  return Math.max(0, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(middle, head));
}

function partsOf({ middle }: FragmentStore, bytes: Uint8Array, cut: number): Uint8Array[] {
  if (cut === 0) return [COMMA, bytes];
  return [COMMA, bytes.subarray(0, cut), bytes.subarray(cut + middle.length)];
}

export function placeFragment(store: FragmentStore, id: number, bytes: Uint8Array): void {
  putRun(store.runs, id, partsOf(store, bytes, store.cut[id] ?? 0));
}

/** Whether these bytes, to be cut at `cut`, are what is there. */
export function isStored(store: FragmentStore, id: number, bytes: Uint8Array, cut: number): boolean {
  return store.cut[id] === cut && isRun(store.runs, id, partsOf(store, bytes, cut));
}

/** Bytes written; 0 where the fragment is not in memory. */
export function copyFragment(store: FragmentStore, id: number, target: Uint8Array, at: number): number {
  const slab = slabOf(store.runs, id);
  if (slab === null) return 0;
  const { runs, middle } = store;
  const from = (runs.at[id] as number) + 1;
  const to = from - 1 + (runs.length[id] as number);
  const cut = store.cut[id] ?? 0;
  if (cut === 0) return slab.bytes.copy(target, at, from, to);
  let written = slab.bytes.copy(target, at, from, from + cut);
  written += middle.copy(target, at + written);
  return written + slab.bytes.copy(target, at + written, from + cut, to);
}

/** Of the slab where the fragment lies there in one piece, else a copy; null where it is not in memory. */
export function viewFragment(store: FragmentStore, id: number): Uint8Array | null {
  const slab = slabOf(store.runs, id);
  if (slab === null) return null;
  const from = (store.runs.at[id] as number) + 1;
  const size = store.size[id] ?? 0;
  if (store.cut[id] === 0) return slab.bytes.subarray(from, from + size);
  const whole = Buffer.allocUnsafeSlow(size);
  copyFragment(store, id, whole, 0);
  return whole;
}
