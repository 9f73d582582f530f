/**
 * A slab is filled once, from its end towards its beginning, and never written again, so a view of it stays true for as
 * long as it is held. Filling downwards puts a newer run before the older one: a page in the order "newest
 * first" then lies in memory as it is sent, commas included.
 */
export interface Slab {
  readonly number: number;
  readonly bytes: Buffer;
  /** Everything from here on is written. */
  from: number;
  /** Bytes of runs that are still current. */
  live: number;
}

/** A run of bytes for each id, in slabs: a million buffers of their own would cost more than what is in them. */
export interface ByteRuns {
  readonly slabBytes: number;
  /** By number; number 0 is never given, null is free to be given again. */
  readonly table: (Slab | null)[];
  readonly freeNumbers: number[];
  open: Slab | null;
  /** Bytes of current runs, and of those that are not any more or were never written. */
  live: number;
  garbage: number;
  /** By id: the number of its slab, 0 for none; where its run begins there; how long it is. */
  slab: Uint32Array;
  at: Uint32Array;
  length: Uint32Array;
}

/** Garbage may be this part of what is held, or two slabs, before a slab is emptied for it. */
const GARBAGE_SHARE = 1 / 8;

export function createByteRuns(slabBytes: number): ByteRuns {
  const columns = { slab: new Uint32Array(0), at: new Uint32Array(0), length: new Uint32Array(0) };
  return { slabBytes, table: [null], freeNumbers: [], open: null, live: 0, garbage: 0, ...columns };
}

/** The slab that holds the run of that id. */
export function slabOf(runs: ByteRuns, id: number): Slab | null {
  return runs.table[runs.slab[id] ?? 0] ?? null;
}

/** Makes these parts, one behind another, the run of that id. */
export function putRun(runs: ByteRuns, id: number, parts: readonly Uint8Array[]): void {
  if (id >= runs.slab.length) {
    runs.slab = grown(runs.slab, id);
    runs.at = grown(runs.at, id);
    runs.length = grown(runs.length, id);
  }
  discard(runs, id);
  write(runs, id, parts);
  compact(runs);
}

export function dropRun(runs: ByteRuns, id: number): void {
  discard(runs, id);
  compact(runs);
}

/** Whether the run of that id is made of these parts. */
export function isRun(runs: ByteRuns, id: number, parts: readonly Uint8Array[]): boolean {
  const slab = slabOf(runs, id);
  if (slab === null || runs.length[id] !== lengthOf(parts)) return false;
  let at = runs.at[id] as number;
  for (const part of parts) {
    if (slab.bytes.compare(part, 0, part.length, at, at + part.length) !== 0) return false;
    at += part.length;
  }
  return true;
}

/** Of slabs and columns. */
export function bytesOfRuns({ live, garbage, open, slab }: ByteRuns): number {
  return live + garbage + (open?.from ?? 0) + slab.byteLength * 3;
}

function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

function write(runs: ByteRuns, id: number, parts: readonly Uint8Array[]): void {
  const length = lengthOf(parts);
  if (runs.open === null || runs.open.from < length) openSlab(runs, Math.max(runs.slabBytes, length));
  const slab = runs.open as Slab;
  slab.from -= length;
  slab.live += length;
  runs.live += length;
  runs.slab[id] = slab.number;
  runs.at[id] = slab.from;
  runs.length[id] = length;
  let at = slab.from;
  for (const part of parts) {
    slab.bytes.set(part, at);
    at += part.length;
  }
}

function openSlab(runs: ByteRuns, byteCount: number): void {
  const closed = runs.open;
  const number = runs.freeNumbers.pop() ?? runs.table.length;
  runs.open = { number, bytes: Buffer.allocUnsafeSlow(byteCount), from: byteCount, live: 0 };
  runs.table[number] = runs.open;
  if (closed === null) return;
  // The rest at its beginning is too short for what comes, and nothing will be written there any more.
  runs.garbage += closed.from;
  freeIfEmpty(runs, closed);
}

function discard(runs: ByteRuns, id: number): void {
  const slab = slabOf(runs, id);
  if (slab === null) return;
  const length = runs.length[id] as number;
  runs.slab[id] = 0;
  slab.live -= length;
  runs.live -= length;
  runs.garbage += length;
  if (slab !== runs.open) freeIfEmpty(runs, slab);
}

/** The memory itself goes when the last view of it goes, so it is never used again for other runs. */
function freeIfEmpty(runs: ByteRuns, slab: Slab): void {
  if (slab.live > 0) return;
  runs.garbage -= slab.bytes.length;
  runs.table[slab.number] = null;
  runs.freeNumbers.push(slab.number);
}

/** Moves what is current out of the slab with the largest share of garbage: some milliseconds, once in a thousand changes. */
function compact(runs: ByteRuns): void {
  if (runs.garbage <= Math.max(2 * runs.slabBytes, runs.live * GARBAGE_SHARE)) return;
  const shareOf = (slab: Slab): number => slab.live / slab.bytes.length;
  let victim: Slab | null = null;
  for (const slab of runs.table) {
    if (slab === null || slab === runs.open) continue;
    if (shareOf(slab) < (victim === null ? 1 : shareOf(victim))) victim = slab;
  }
  for (let id = 0; victim !== null && victim.live > 0 && id < runs.slab.length; id += 1) {
    if (runs.slab[id] !== victim.number) continue;
    const at = runs.at[id] as number;
    const run = victim.bytes.subarray(at, at + (runs.length[id] as number));
    discard(runs, id);
    write(runs, id, [run]);
  }
}

const FIRST_CAPACITY = 1_024;

/** The same column with room for `id`, doubled: copying stays below two moves an entry over the life of a process. */
export function grown<Column extends Uint32Array | Float64Array>(column: Column, id: number): Column {
  const capacity = Math.max(FIRST_CAPACITY, 2 ** Math.ceil(Math.log2(id + 1)));
  const larger = new (column.constructor as new (length: number) => Column)(capacity);
  larger.set(column);
  return larger;
}
