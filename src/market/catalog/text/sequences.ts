/**
 * A run of bytes per listing, in slabs: a million buffers of their own would cost more than what is in them. Slabs are written from
 * front to back; one that is mostly garbage is emptied into the current one.
 */
export interface Sequences {
  readonly slabs: Uint8Array[];
  /** Bytes of each slab that still belong to a listing. */
  readonly used: number[];
  readonly emptied: number[];
  current: number;
  end: number;
  slabOf: Uint16Array;
  placeOf: Uint32Array;
  /** 0: the listing is unknown. */
  lengthOf: Uint32Array;
  readonly slabBytes: number;
  /** Of all slabs, kept in step. */
  bytesOfSlabs: number;
}

const NO_BYTES = new Uint8Array(0);

export function createSequences(slabBytes = 1 << 20): Sequences {
  return {
    slabs: [],
    used: [],
    emptied: [],
    current: -1,
    end: 0,
    slabOf: new Uint16Array(1024),
    placeOf: new Uint32Array(1024),
    lengthOf: new Uint32Array(1024),
    slabBytes,
    bytesOfSlabs: 0,
  };
}

export function hasSequence(store: Sequences, id: number): boolean {
  return id < store.lengthOf.length && store.lengthOf[id] !== 0;
}

export function isSequence(store: Sequences, id: number, bytes: Uint8Array, length: number): boolean {
  if (!hasSequence(store, id) || store.lengthOf[id] !== length) return false;
  const slab = slabAt(store, id);
  const place = store.placeOf[id] as number;
  for (let at = 0; at < length; at += 1) {
    if (slab[place + at] !== bytes[at]) return false;
  }
  return true;
}

/** The slab that holds the run of a known listing, from `placeOf` on. */
export function slabAt(store: Sequences, id: number): Uint8Array {
  return store.slabs[store.slabOf[id] as number] ?? NO_BYTES;
}

export function putSequence(store: Sequences, id: number, bytes: Uint8Array, length: number): void {
  growColumns(store, id);
  dropSequence(store, id);
  append(store, id, bytes, 0, length);
}

export function dropSequence(store: Sequences, id: number): void {
  if (!hasSequence(store, id)) return;
  const slab = store.slabOf[id] as number;
  store.used[slab] = (store.used[slab] ?? 0) - (store.lengthOf[id] as number);
  store.lengthOf[id] = 0;
  emptyIfThin(store, slab);
}

export function sequenceBytes(store: Sequences): number {
  return store.slabOf.byteLength + store.placeOf.byteLength + store.lengthOf.byteLength + store.bytesOfSlabs;
}

function append(store: Sequences, id: number, bytes: Uint8Array, from: number, length: number): void {
  if (store.current < 0 || store.end + length > (store.slabs[store.current] ?? NO_BYTES).length)
    openSlab(store, length);
  const slab = store.slabs[store.current] ?? NO_BYTES;
  for (let at = 0; at < length; at += 1) slab[store.end + at] = bytes[from + at] as number;
  store.slabOf[id] = store.current;
  store.placeOf[id] = store.end;
  store.lengthOf[id] = length;
  store.used[store.current] = (store.used[store.current] ?? 0) + length;
  store.end += length;
}

function openSlab(store: Sequences, atLeast: number): void {
  const closed = store.current;
  store.current = store.emptied.pop() ?? store.slabs.length;
  const bytes = Math.max(store.slabBytes, atLeast);
  store.slabs[store.current] = new Uint8Array(bytes);
  store.bytesOfSlabs += bytes;
  store.used[store.current] = 0;
  store.end = 0;
  if (closed >= 0) emptyIfThin(store, closed);
}

function emptyIfThin(store: Sequences, slab: number): void {
  const bytes = store.slabs[slab] ?? NO_BYTES;
  const used = store.used[slab] ?? 0;
  if (slab === store.current || bytes.length === 0 || used * 2 >= bytes.length) return;
  if (used > 0) {
    // Looking through all listings costs a millisecond per million, once in thousands of changes.
    for (let id = 0; id < store.lengthOf.length; id += 1) {
      const length = store.lengthOf[id] as number;
      if (length !== 0 && store.slabOf[id] === slab) append(store, id, bytes, store.placeOf[id] as number, length);
    }
  }
  store.slabs[slab] = NO_BYTES;
  store.bytesOfSlabs -= bytes.length;
  store.used[slab] = 0;
  store.emptied.push(slab);
}

function growColumns(store: Sequences, id: number): void {
  if (id < store.lengthOf.length) return;
  let length = store.lengthOf.length;
  while (length <= id) length *= 2;
  const slabOf = new Uint16Array(length);
  const placeOf = new Uint32Array(length);
  const lengthOf = new Uint32Array(length);
  slabOf.set(store.slabOf);
  placeOf.set(store.placeOf);
  lengthOf.set(store.lengthOf);
  store.slabOf = slabOf;
  store.placeOf = placeOf;
  store.lengthOf = lengthOf;
}
