import { hash } from 'node:crypto';
import { type ByteRuns, createByteRuns, dropRun, isRun, putRun, slabOf, withCapacity } from '../byte-runs.ts';

/** Limits ids so that an id times eight still fits 32 bits. */
const LAST_ID = 2 ** 29 - 1;
const COMMA = Buffer.from(',');

/** The bytes between the head of a fragment and its description, which begins with the first line. */
const DESCRIPTION = Buffer.from(',"description":"');
const FIRST_LINE = Buffer.from(',"first_line":"');
const CLOSING = Buffer.from('"}');

/** Byte lengths of the two parts of an outline: the members before the description, and its first line. */
export interface OutlineSpan {
  head: number;
  line: number;
}

export function outlineBytes({ head, line }: OutlineSpan): number {
  return head + FIRST_LINE.length + line + CLOSING.length;
}

/** Writes the outline of the fragment that starts at `from` and returns the end. */
export function writeOutline(source: Buffer, from: number, span: OutlineSpan, target: Uint8Array, at: number): number {
  const { head, line } = span;
  const lineAt = from + head + DESCRIPTION.length;
  let written = at + source.copy(target, at, from, from + head);
  written += FIRST_LINE.copy(target, written);
  written += source.copy(target, written, lineAt, lineAt + line);
  return written + CLOSING.copy(target, written);
}

/** Stores fragments, each after a comma, with columns by id. The middle that most of them share is stored once. */
interface FragmentStore {
  readonly runs: ByteRuns;
  readonly middle: Buffer;
  /** Size of the whole fragment. A zero here, and in all columns below, means an unknown id. */
  size: Uint32Array;
  head: Uint32Array;
  /** Length of the first line as JSON. */
  line: Uint32Array;
  /** Offset at which the shared middle was cut out, or 0 if it was not. */
  cut: Uint32Array;
  version: Uint32Array;
  /** Two 32-bit numbers per id. */
  stamp: Uint32Array;
}

function createFragmentStore(slabBytes: number, middle: Uint8Array): FragmentStore {
  const empty = new Uint32Array(0);
  const columns = { size: empty, head: empty, line: empty, cut: empty, version: empty, stamp: empty };
  return { runs: createByteRuns(slabBytes), middle: Buffer.from(middle), ...columns };
}

function reachId(store: FragmentStore, id: number): void {
  if (!Number.isInteger(id) || id < 1 || id > LAST_ID) throw new RangeError(`not a listing id: ${id}`);
  if (id < store.size.length) return;
  store.size = withCapacity(store.size, id);
  store.head = withCapacity(store.head, id);
  store.line = withCapacity(store.line, id);
  store.cut = withCapacity(store.cut, id);
  store.version = withCapacity(store.version, id);
  store.stamp = withCapacity(store.stamp, store.size.length * 2 - 1);
}

function spanOf({ head, line }: FragmentStore, id: number): OutlineSpan {
  return { head: head[id] ?? 0, line: line[id] ?? 0 };
}

/** Returns the offset of the shared middle, or 0 if there is none after the outline. The outline itself must stay in one piece. */
function cutOf({ middle }: FragmentStore, bytes: Uint8Array, span: OutlineSpan): number {
  if (middle.length === 0) return 0;
  const outlineEnd = span.head + DESCRIPTION.length + span.line;
  return Math.max(0, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(middle, outlineEnd));
}

function partsOf({ middle }: FragmentStore, bytes: Uint8Array, cut: number): Uint8Array[] {
  if (cut === 0) return [COMMA, bytes];
  return [COMMA, bytes.subarray(0, cut), bytes.subarray(cut + middle.length)];
}

function isStored(store: FragmentStore, id: number, bytes: Uint8Array, cut: number): boolean {
  return store.cut[id] === cut && isRun(store.runs, id, partsOf(store, bytes, cut));
}

function copyFragment(store: FragmentStore, id: number, target: Uint8Array, at: number): number {
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

/** Returns a view of the slab if the fragment is contiguous there, otherwise a copy. Null if it is not in memory. */
function viewFragment(store: FragmentStore, id: number): Buffer | null {
  const slab = slabOf(store.runs, id);
  if (slab === null) return null;
  const from = (store.runs.at[id] as number) + 1;
  const size = store.size[id] ?? 0;
  if (store.cut[id] === 0) return slab.bytes.subarray(from, from + size);
  const whole = Buffer.allocUnsafeSlow(size);
  copyFragment(store, id, whole, 0);
  return whole;
}

const EMPTY = Buffer.alloc(0);

/** Writes fragments separated by commas. Returns the end, or -1 if one is not in memory. Copies adjacent fragments together. */
function joinWhole(store: FragmentStore, ids: readonly number[], target: Uint8Array, at: number): number {
  const { runs, middle, cut: cuts } = store;
  const { slab: slabNumbers, at: commas, length: lengths } = runs;
  let written = at;
  // The bytes still to be copied: `run` from `from` to `to`, in slab `number`. Empty at first.
  let number = 0;
  let run: Buffer = EMPTY;
  let from = 0;
  let to = 0;
  for (const id of ids) {
    const slabNumber = slabNumbers[id] ?? 0;
    if (slabNumber === 0) return -1;
    const comma = commas[id] ?? 0;
    if (slabNumber !== number || comma !== to) {
      written += run.copy(target, written, from, to);
      // Skip the comma of the very first fragment.
      from = number === 0 ? comma + 1 : comma;
      number = slabNumber;
      run = runs.table[slabNumber]?.bytes ?? EMPTY;
    }
    to = comma + (lengths[id] ?? 0);
    const cut = cuts[id] ?? 0;
    if (cut === 0) continue;
    written += run.copy(target, written, from, comma + 1 + cut);
    written += middle.copy(target, written);
    from = comma + 1 + cut;
  }
  return written + run.copy(target, written, from, to);
}

function joinOutlines(store: FragmentStore, ids: readonly number[], target: Uint8Array, at: number): number {
  const { runs } = store;
  let written = at;
  for (const id of ids) {
    const slab = slabOf(runs, id);
    if (slab === null) return -1;
    if (written > at) written += COMMA.copy(target, written);
    written = writeOutline(slab.bytes, (runs.at[id] ?? 0) + 1, spanOf(store, id), target, written);
  }
  return written;
}

const SLAB_BYTES = 4 * 1024 * 1024;
const SMALLEST_SLAB_BYTES = 64 * 1024;

/** A small budget has small slabs, so that half-empty ones stay a small part of it. */
const SLABS_PER_BUDGET = 64;

/** Garbage is at most an eighth of the live bytes plus a few slabs, because one slab is filled while another is compacted. */
const LIVE_SHARE = 8 / 9;
const SPARE_SLABS = 4;
/** The live limit is at least this share of the budget, however large a slab is. */
const LEAST_LIVE_SHARE = 5 / 6;

/** Holds the JSON text of each listing summary, ready to be copied into a page. */
export interface Fragments {
  /** Views of an older version stay unchanged. */
  put(id: number, bytes: Uint8Array, span: OutlineSpan): void;
  /** 0 if the id is unknown. */
  size(id: number): number;
  /** Zeros if the id is unknown. */
  span(id: number): OutlineSpan;
  /** Changes with each put that changed the fragment. 0 if the id is unknown. */
  version(id: number): number;
  /** False if the fragment was evicted or the id is unknown. */
  has(id: number): boolean;
  /** Returns the number of bytes written, or 0 if the fragment is not in memory. */
  copy(id: number, target: Uint8Array, at: number): number;
  /** Read only. Null if the fragment is not in memory. */
  view(id: number): Buffer | null;
  /** Writes all fragments separated by commas. Returns the end, or -1 if one is not in memory. */
  join(ids: readonly number[], target: Uint8Array, at: number): number;
  joinOutlines(ids: readonly number[], target: Uint8Array, at: number): number;
  /** Writes the first 8 bytes of the fragment's SHA-256, which stay known after eviction. */
  stampInto(id: number, target: Buffer, at: number): void;
  bytes(): { live: number; garbage: number };
}

export const STAMP_BYTES = 8;

export interface FragmentsOptions {
  budgetBytes: number;
  slabBytes?: number;
  /** The bytes most fragments have after their outline, stored once for all of them. */
  usualMiddle?: Uint8Array;
}

/** Above the budget, evicts the lowest ids, because the oldest listings are requested least. */
export function createFragments(options: FragmentsOptions): Fragments {
  const { budgetBytes, usualMiddle = new Uint8Array(0) } = options;
  const largestSlabBytes = Math.max(SMALLEST_SLAB_BYTES, Math.floor(budgetBytes / SLABS_PER_BUDGET));
  const slabBytes = Math.min(options.slabBytes ?? SLAB_BYTES, largestSlabBytes);
  const store = createFragmentStore(slabBytes, usualMiddle);
  const { runs } = store;
  const mostLive = Math.max(budgetBytes * LEAST_LIVE_SHARE, (budgetBytes - SPARE_SLABS * slabBytes) * LIVE_SHARE);
  // Lower ids are not stored, because they would be evicted first anyway.
  let lowestStored = 1;
  let lastVersion = 0;

  return {
    put(id, bytes, span) {
      const size = bytes.length;
      const { head, line } = span;
      if (!(head > 0 && line >= 0 && head + DESCRIPTION.length + line < size)) {
        throw new RangeError(`fragment ${id} has no outline: ${head} and ${line} of ${size} bytes`);
      }
      reachId(store, id);
      const cut = cutOf(store, bytes, span);
      // Compare bytes, not stamps, because an attacker can make two texts with the same stamp.
      if (store.head[id] === head && store.line[id] === line && isStored(store, id, bytes, cut)) return;
      store.size[id] = size;
      store.head[id] = head;
      store.line[id] = line;
      store.cut[id] = cut;
      store.stamp.fill(0, id * 2, id * 2 + 2);
      lastVersion = (lastVersion + 1) >>> 0 || 1;
      store.version[id] = lastVersion;
      if (id >= lowestStored) putRun(runs, id, partsOf(store, bytes, cut));
      else writeStamp(store, id, bytes);
      for (; runs.live > mostLive; lowestStored++) {
        stampStored(store, lowestStored);
        dropRun(runs, lowestStored);
      }
    },
    size: (id) => store.size[id] ?? 0,
    span: (id) => spanOf(store, id),
    version: (id) => store.version[id] ?? 0,
    has: (id) => (runs.slab[id] ?? 0) !== 0,
    copy: (id, target, at) => copyFragment(store, id, target, at),
    view: (id) => viewFragment(store, id),
    join: (ids, target, at) => joinWhole(store, ids, target, at),
    joinOutlines: (ids, target, at) => joinOutlines(store, ids, target, at),
    stampInto(id, target, at) {
      stampStored(store, id);
      target.writeUInt32BE(store.stamp[id * 2] ?? 0, at);
      target.writeUInt32BE(store.stamp[id * 2 + 1] ?? 0, at + 4);
    },
    bytes: () => ({ live: runs.live, garbage: runs.garbage }),
  };
}

/** Computes the stamp when needed, at the latest on eviction, because all stamps would take a tenth of the first load. */
function stampStored(store: FragmentStore, id: number): void {
  // A stamp that happens to be all zeros is recomputed each time, which is harmless.
  const isMade = store.stamp[id * 2] !== 0 || store.stamp[id * 2 + 1] !== 0;
  if (isMade || slabOf(store.runs, id) === null) return;
  const size = store.size[id] ?? 0;
  if (scratch.length < size) scratch = Buffer.alloc(size * 2);
  copyFragment(store, id, scratch, 0);
  writeStamp(store, id, scratch.subarray(0, size));
}

let scratch = Buffer.alloc(16 * 1024);

function writeStamp({ stamp }: FragmentStore, id: number, bytes: Uint8Array): void {
  const digest = hash('sha256', bytes, 'buffer');
  stamp[id * 2] = digest.readUInt32BE(0);
  stamp[id * 2 + 1] = digest.readUInt32BE(4);
}
