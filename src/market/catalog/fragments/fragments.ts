import { hash } from 'node:crypto';
import { type ByteRuns, createByteRuns, dropRun, grown, isRun, putRun, slabOf } from '../byte-runs.ts';

/** Ids end here, so that an id times eight still fits 32 bits. */
const LAST_ID = 2 ** 29 - 1;
const COMMA = Buffer.from(',');

/** Behind the head of a fragment; the text after it begins with the first line. */
const DESCRIPTION = Buffer.from(',"description":"');
const FIRST_LINE = Buffer.from(',"first_line":"');
const CLOSING = Buffer.from('"}');

/** What of a fragment is its outline, in bytes: its first members, and of the description behind them the first line. */
export interface OutlineSpan {
  head: number;
  line: number;
}

/** What an outline takes. */
export function outlineBytes({ head, line }: OutlineSpan): number {
  return head + FIRST_LINE.length + line + CLOSING.length;
}

/** Writes the outline of the fragment that begins there; gives the place behind it. */
export function writeOutline(source: Buffer, from: number, span: OutlineSpan, target: Uint8Array, at: number): number {
  const { head, line } = span;
  const lineAt = from + head + DESCRIPTION.length;
  let written = at + source.copy(target, at, from, from + head);
  written += FIRST_LINE.copy(target, written);
  written += source.copy(target, written, lineAt, lineAt + line);
  return written + CLOSING.copy(target, written);
}

/** Where fragments lie, each behind a comma, and what is known of each by id. What most of them have in the middle is kept once. */
interface FragmentStore {
  readonly runs: ByteRuns;
  /** May be empty. */
  readonly middle: Buffer;
  /** Of the whole fragment; zero in this and all that follow: an unknown id. */
  size: Uint32Array;
  head: Uint32Array;
  /** Of the first line, as JSON writes it. */
  line: Uint32Array;
  /** Where in the fragment the usual middle belongs, which is not stored with it; 0: nowhere. */
  cut: Uint32Array;
  version: Uint32Array;
  /** Two numbers of 32 bits each. */
  stamp: Uint32Array;
}

function createFragmentStore(slabBytes: number, middle: Uint8Array): FragmentStore {
  const none = new Uint32Array(0);
  const columns = { size: none, head: none, line: none, cut: none, version: none, stamp: none };
  return { runs: createByteRuns(slabBytes), middle: Buffer.from(middle), ...columns };
}

/** Makes room for an id. */
function reachId(store: FragmentStore, id: number): void {
  if (!Number.isInteger(id) || id < 1 || id > LAST_ID) throw new RangeError(`not a listing id: ${id}`);
  if (id < store.size.length) return;
  store.size = grown(store.size, id);
  store.head = grown(store.head, id);
  store.line = grown(store.line, id);
  store.cut = grown(store.cut, id);
  store.version = grown(store.version, id);
  store.stamp = grown(store.stamp, store.size.length * 2 - 1);
}

function spanOf({ head, line }: FragmentStore, id: number): OutlineSpan {
  return { head: head[id] ?? 0, line: line[id] ?? 0 };
}

/** Behind the outline, so that this lies in one piece; 0: the fragment does not have the usual middle. */
function cutOf({ middle }: FragmentStore, bytes: Uint8Array, span: OutlineSpan): number {
  if (middle.length === 0) return 0;
  const behind = span.head + DESCRIPTION.length + span.line;
  return Math.max(0, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(middle, behind));
}

function partsOf({ middle }: FragmentStore, bytes: Uint8Array, cut: number): Uint8Array[] {
  if (cut === 0) return [COMMA, bytes];
  return [COMMA, bytes.subarray(0, cut), bytes.subarray(cut + middle.length)];
}

function placeFragment(store: FragmentStore, id: number, bytes: Uint8Array): void {
  putRun(store.runs, id, partsOf(store, bytes, store.cut[id] ?? 0));
}

/** Whether these bytes, to be cut at `cut`, are what is there. */
function isStored(store: FragmentStore, id: number, bytes: Uint8Array, cut: number): boolean {
  return store.cut[id] === cut && isRun(store.runs, id, partsOf(store, bytes, cut));
}

/** Bytes written; 0 where the fragment is not in memory. */
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

/** Of the slab where the fragment lies there in one piece, else a copy; null where it is not in memory. */
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

const NOTHING = Buffer.alloc(0);

/**
 * Fragments with commas between, from `at` on; gives the place behind, or -1 when one is not held. Each lies in its slab
 * behind a comma of its own, and what is of neighbours there is copied together, from one usual middle to the next.
 */
function joinWhole(store: FragmentStore, ids: readonly number[], target: Uint8Array, at: number): number {
  const { runs, middle, cut: cuts } = store;
  const { slab: places, at: commas, length: lengths } = runs;
  let written = at;
  // The run that is still to be copied: of this slab, from here to there. None at first.
  let number = 0;
  let run: Buffer = NOTHING;
  let from = 0;
  let to = 0;
  for (const id of ids) {
    const place = places[id] ?? 0;
    if (place === 0) return -1;
    const comma = commas[id] ?? 0;
    if (place !== number || comma !== to) {
      written += run.copy(target, written, from, to);
      // The very first fragment leaves its comma behind.
      from = number === 0 ? comma + 1 : comma;
      number = place;
      run = runs.table[place]?.bytes ?? NOTHING;
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

/** The same with outlines. */
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

/** Garbage is an eighth of what is held at most, but for a few slabs: one is filled while another one is emptied. */
const LIVE_SHARE = 8 / 9;
const SPARE_SLABS = 4;
/** The limit of held bytes is at least this share of the budget, however large a slab is. */
const LEAST_LIVE_SHARE = 5 / 6;

/** The JSON text of each listing summary, ready to be copied into a page. */
export interface Fragments {
  /** What was captured of an older version stays as it is. */
  put(id: number, bytes: Uint8Array, span: OutlineSpan): void;
  /** 0: unknown id. */
  size(id: number): number;
  /** What of it is the outline; zeros: unknown id. */
  span(id: number): OutlineSpan;
  /** Another number after each put that changed something; 0: unknown id. */
  version(id: number): number;
  /** False: left memory, or unknown. */
  has(id: number): boolean;
  /** Bytes written; 0 where the fragment is not held. */
  copy(id: number, target: Uint8Array, at: number): number;
  /** Not to be written to; null where the fragment is not held. */
  view(id: number): Buffer | null;
  /** All of them with commas between; gives the place behind the last byte, or -1 when one is not held. */
  join(ids: readonly number[], target: Uint8Array, at: number): number;
  /** The same with outlines. */
  joinOutlines(ids: readonly number[], target: Uint8Array, at: number): number;
  /** 64 bits of the SHA-256 of the fragment, 8 bytes; known also of those that left memory. */
  stampInto(id: number, target: Buffer, at: number): void;
  bytes(): { live: number; garbage: number };
}

export const STAMP_BYTES = 8;

export interface FragmentsOptions {
  budgetBytes: number;
  slabBytes?: number;
  /** What most fragments have behind their outline, byte by byte: kept once for all of them. */
  usualMiddle?: Uint8Array;
}

/** Above the budget the fragments of the lowest ids leave memory: those of the oldest listings, which are asked for least. */
export function createFragments(options: FragmentsOptions): Fragments {
  const { budgetBytes, usualMiddle = new Uint8Array(0) } = options;
  const smallEnough = Math.max(SMALLEST_SLAB_BYTES, Math.floor(budgetBytes / SLABS_PER_BUDGET));
  const slabBytes = Math.min(options.slabBytes ?? SLAB_BYTES, smallEnough);
  const store = createFragmentStore(slabBytes, usualMiddle);
  const { runs } = store;
  const mostLive = Math.max(budgetBytes * LEAST_LIVE_SHARE, (budgetBytes - SPARE_SLABS * slabBytes) * LIVE_SHARE);
  // Lower ids are never held again: they are evicted first, so they have no claim to come back before the others.
  let lowestStored = 1;
  let puts = 0;

  return {
    put(id, bytes, span) {
      const size = bytes.length;
      const { head, line } = span;
      if (!(head > 0 && line >= 0 && head + DESCRIPTION.length + line < size)) {
        throw new RangeError(`fragment ${id} has no outline: ${head} and ${line} of ${size} bytes`);
      }
      reachId(store, id);
      const cut = cutOf(store, bytes, span);
      // The bytes are compared, not the stamps: an attacker can make two texts with the same stamp.
      if (store.head[id] === head && store.line[id] === line && isStored(store, id, bytes, cut)) return;
      store.size[id] = size;
      store.head[id] = head;
      store.line[id] = line;
      store.cut[id] = cut;
      store.stamp.fill(0, id * 2, id * 2 + 2);
      puts = (puts + 1) >>> 0 || 1;
      store.version[id] = puts;
      if (id >= lowestStored) placeFragment(store, id, bytes);
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

/** Made when it is first asked for, or at the latest when the bytes leave memory: a first load would spend a tenth of its time on them. */
function stampStored(store: FragmentStore, id: number): void {
  // One that is nothing but zeros by chance is made again each time, and is right each time.
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
