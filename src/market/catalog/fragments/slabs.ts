/**
 * A slab is filled once, from its end towards its beginning, and never written again, so a view of it stays true for as
 * long as anybody holds it. Filling downwards puts a newer fragment before the older one: a page in the order "newest
 * first" then lies in memory as it is sent, commas included.
 */
export interface Slab {
  readonly number: number;
  readonly bytes: Buffer;
  /** Everything from here on is written. */
  from: number;
  /** Bytes of fragments that are still current, commas included. */
  live: number;
  sealed: boolean;
}

export interface Slabs {
  readonly slabBytes: number;
  /** By number; number 0 is never given, null is free to be given again. */
  readonly table: (Slab | null)[];
  readonly freeNumbers: number[];
  open: Slab | null;
  held: number;
  garbage: number;
}

const COMMA = 0x2c;

export function createSlabs(slabBytes: number): Slabs {
  return { slabBytes, table: [null], freeNumbers: [], open: null, held: 0, garbage: 0 };
}

/** Reserves room for a comma and a fragment and writes the comma; the fragment belongs behind it, at `slab.from + 1`. */
export function reserve(slabs: Slabs, size: number): Slab {
  const needed = size + 1;
  let slab = slabs.open;
  if (slab === null || slab.from < needed) {
    if (slab !== null) sealSlab(slabs, slab);
    slab = openSlab(slabs, Math.max(slabs.slabBytes, needed));
  }
  slab.from -= needed;
  slab.live += needed;
  slabs.held += needed;
  slab.bytes[slab.from] = COMMA;
  return slab;
}

/** A fragment of this slab is not current any more. */
export function discard(slabs: Slabs, slab: Slab, size: number): void {
  slab.live -= size + 1;
  slabs.held -= size + 1;
  slabs.garbage += size + 1;
  if (slab.sealed) freeWhenEmpty(slabs, slab);
}

/** The sealed slab with the largest share of garbage, or null where there is none at all. */
export function mostWasted(slabs: Slabs): Slab | null {
  let worst: Slab | null = null;
  let worstShare = 0;
  for (const slab of slabs.table) {
    if (slab === null || !slab.sealed) continue;
    const share = 1 - slab.live / slab.bytes.length;
    if (share > worstShare) [worst, worstShare] = [slab, share];
  }
  return worst;
}

function openSlab(slabs: Slabs, byteCount: number): Slab {
  const number = slabs.freeNumbers.pop() ?? slabs.table.length;
  const bytes = Buffer.allocUnsafeSlow(byteCount);
  const slab: Slab = { number, bytes, from: byteCount, live: 0, sealed: false };
  slabs.table[number] = slab;
  slabs.open = slab;
  return slab;
}

function sealSlab(slabs: Slabs, slab: Slab): void {
  slab.sealed = true;
  // The rest at its beginning is too short for what comes, and nothing will be written there any more.
  slabs.garbage += slab.from;
  slabs.open = null;
  freeWhenEmpty(slabs, slab);
}

/** The memory itself goes when the last view of it goes, so it is never used again for other fragments. */
function freeWhenEmpty(slabs: Slabs, slab: Slab): void {
  if (slab.live > 0) return;
  slabs.garbage -= slab.bytes.length;
  slabs.table[slab.number] = null;
  slabs.freeNumbers.push(slab.number);
}
