/**
 * A block of memory. It is filled from its end to its start and never rewritten, so views of it stay valid and listings sorted newest first
 * are contiguous.
 */
export interface Slab {
  readonly number: number;
  readonly bytes: Buffer;
  /** All bytes from this offset on are written. */
  from: number;
  /** Bytes of current runs. */
  live: number;
}

/** Stores a run of bytes per id in slabs. A million separate buffers would cost more than their contents. */
export interface ByteRuns {
  readonly slabBytes: number;
  /** By slab number; number 0 is never used, null marks a free number. */
  readonly table: (Slab | null)[];
  readonly freeNumbers: number[];
  open: Slab | null;
  /** `live` counts bytes of current runs, `garbage` bytes of dead runs and unused space. */
  live: number;
  garbage: number;
  /** Columns by id: slab number (0 if the id has no run), offset in the slab, and length. */
  slab: Uint32Array;
  at: Uint32Array;
  length: Uint32Array;
}

/** A slab is compacted if garbage exceeds both this share of the live bytes and two slabs. */
const GARBAGE_SHARE = 1 / 8;

export function createByteRuns(slabBytes: number): ByteRuns {
  const columns = { slab: new Uint32Array(0), at: new Uint32Array(0), length: new Uint32Array(0) };
  return { slabBytes, table: [null], freeNumbers: [], open: null, live: 0, garbage: 0, ...columns };
}

export function slabOf(runs: ByteRuns, id: number): Slab | null {
  return runs.table[runs.slab[id] ?? 0] ?? null;
}

export function putRun(runs: ByteRuns, id: number, parts: readonly Uint8Array[]): void {
  reachRun(runs, id);
  discardRun(runs, id);
  writeRun(runs, id, parts);
  compactRuns(runs);
}

/** Adds a full slab. `runs` holds id, offset and length of each of its runs; the ids must have none yet. */
export function adoptSlab(byteRuns: ByteRuns, bytes: Buffer, runs: Uint32Array): void {
  const number = byteRuns.freeNumbers.pop() ?? byteRuns.table.length;
  let live = 0;
  for (let index = 0; index < runs.length; index += 3) {
    const id = runs[index] as number;
    const at = runs[index + 1] as number;
    const length = runs[index + 2] as number;
    if (at + length > bytes.length) throw new RangeError(`run ${id} is outside of its slab`);
    reachRun(byteRuns, id);
    byteRuns.slab[id] = number;
    byteRuns.at[id] = at;
    byteRuns.length[id] = length;
    live += length;
  }
  byteRuns.table[number] = { number, bytes, from: 0, live };
  byteRuns.live += live;
  byteRuns.garbage += bytes.length - live;
}

export function dropRun(runs: ByteRuns, id: number): void {
  discardRun(runs, id);
  compactRuns(runs);
}

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

export function bytesOfRuns({ live, garbage, open, slab }: ByteRuns): number {
  return live + garbage + (open?.from ?? 0) + slab.byteLength * 3;
}

function reachRun(runs: ByteRuns, id: number): void {
  if (id < runs.slab.length) return;
  runs.slab = withCapacity(runs.slab, id);
  runs.at = withCapacity(runs.at, id);
  runs.length = withCapacity(runs.length, id);
}

function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

function writeRun(runs: ByteRuns, id: number, parts: readonly Uint8Array[]): void {
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
  // The space left at the start of the closed slab is too short for the next run and stays unused.
  runs.garbage += closed.from;
  freeIfEmpty(runs, closed);
}

function discardRun(runs: ByteRuns, id: number): void {
  const slab = slabOf(runs, id);
  if (slab === null) return;
  const length = runs.length[id] as number;
  runs.slab[id] = 0;
  slab.live -= length;
  runs.live -= length;
  runs.garbage += length;
  if (slab !== runs.open) freeIfEmpty(runs, slab);
}

/** Frees the number of an empty slab. The slab's memory is never reused for other runs. It is freed once no view is left. */
function freeIfEmpty(runs: ByteRuns, slab: Slab): void {
  if (slab.live > 0) return;
  runs.garbage -= slab.bytes.length;
  runs.table[slab.number] = null;
  runs.freeNumbers.push(slab.number);
}

/** Moves current runs out of the slab with the largest share of garbage. Takes some milliseconds, once in a thousand changes. */
function compactRuns(runs: ByteRuns): void {
  if (runs.garbage <= Math.max(2 * runs.slabBytes, runs.live * GARBAGE_SHARE)) return;
  const liveShareOf = (slab: Slab): number => slab.live / slab.bytes.length;
  let victim: Slab | null = null;
  for (const slab of runs.table) {
    if (slab === null || slab === runs.open) continue;
    if (liveShareOf(slab) < (victim === null ? 1 : liveShareOf(victim))) victim = slab;
  }
  for (let id = 0; victim !== null && victim.live > 0 && id < runs.slab.length; id += 1) {
    if (runs.slab[id] !== victim.number) continue;
    const at = runs.at[id] as number;
    const run = victim.bytes.subarray(at, at + (runs.length[id] as number));
    discardRun(runs, id);
    writeRun(runs, id, [run]);
  }
}

const FIRST_CAPACITY = 1_024;

/** Returns a copy of the column with room for `id`. Capacity doubles, so over time each entry is copied less than twice. */
export function withCapacity<Column extends Uint32Array | Float64Array>(column: Column, id: number): Column {
  const capacity = Math.max(FIRST_CAPACITY, 2 ** Math.ceil(Math.log2(id + 1)));
  const larger = new (column.constructor as new (length: number) => Column)(capacity);
  larger.set(column);
  return larger;
}
