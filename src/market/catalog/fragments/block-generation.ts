const CHUNK_BITS = 20;
const CHUNK_BYTES = 2 ** CHUNK_BITS;
const FIRST_CAPACITY = 256;

/** What an entry takes in the columns below. */
export const ENTRY_BYTES = 28;

/** A compressed fragment, ready to be copied, and what it does to the checksum of the file it is copied into. */
export interface Block {
  source: Buffer;
  from: number;
  length: number;
  /** CRC of the fragment, its length, and `shiftOfBytes` of that length. */
  crc: number;
  size: number;
  shift: number;
}

/** Blocks one behind another in chunks, described by columns; emptied as a whole, when its chunks are used again. */
export interface BlockGeneration {
  count: number;
  /** Of blocks and columns. */
  bytes: number;
  chunks: Buffer[];
  chunk: number;
  filled: number;
  capacity: number;
  ids: Uint32Array;
  versions: Uint32Array;
  places: Uint32Array;
  lengths: Uint32Array;
  sizes: Uint32Array;
  crcs: Uint32Array;
  shifts: Int32Array;
}

export function createBlockGeneration(): BlockGeneration {
  return {
    count: 0,
    bytes: 0,
    chunks: [],
    chunk: 0,
    filled: 0,
    capacity: 0,
    ids: new Uint32Array(0),
    versions: new Uint32Array(0),
    places: new Uint32Array(0),
    lengths: new Uint32Array(0),
    sizes: new Uint32Array(0),
    crcs: new Uint32Array(0),
    shifts: new Int32Array(0),
  };
}

export function emptyGeneration(generation: BlockGeneration): void {
  generation.count = 0;
  generation.bytes = 0;
  generation.chunk = 0;
  generation.filled = 0;
}

/** Copies a block into the generation and gives its entry. */
export function addBlock(generation: BlockGeneration, id: number, version: number, block: Block): number {
  if (generation.count === generation.capacity) growColumns(generation);
  const chunk = chunkFor(generation, block.length);
  const entry = generation.count;
  block.source.copy(chunk, generation.filled, block.from, block.from + block.length);
  generation.ids[entry] = id;
  generation.versions[entry] = version;
  generation.places[entry] = generation.chunk * CHUNK_BYTES + generation.filled;
  generation.lengths[entry] = block.length;
  generation.sizes[entry] = block.size;
  generation.crcs[entry] = block.crc;
  generation.shifts[entry] = block.shift;
  generation.filled += block.length;
  generation.bytes += block.length + ENTRY_BYTES;
  generation.count += 1;
  return entry;
}

/** Writes into the record that is given, so that reading a page of blocks makes no objects. */
export function readBlock(generation: BlockGeneration, entry: number, into: Block): void {
  const place = generation.places[entry] ?? 0;
  into.source = generation.chunks[place >>> CHUNK_BITS] ?? into.source;
  into.from = place & (CHUNK_BYTES - 1);
  into.length = generation.lengths[entry] ?? 0;
  into.crc = generation.crcs[entry] ?? 0;
  into.size = generation.sizes[entry] ?? 0;
  into.shift = generation.shifts[entry] ?? 0;
}

/** A block never lies across two chunks; one that is longer than a chunk has a chunk of its own length. */
function chunkFor(generation: BlockGeneration, needed: number): Buffer {
  for (;;) {
    const chunk = generation.chunks[generation.chunk];
    if (chunk === undefined) {
      const fresh = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, needed));
      generation.chunks.push(fresh);
      return fresh;
    }
    // Places count in chunks of the usual length, so the rest of a longer one is left alone.
    if (generation.filled + needed <= (generation.filled === 0 ? chunk.length : CHUNK_BYTES)) return chunk;
    generation.chunk += 1;
    generation.filled = 0;
  }
}

function growColumns(generation: BlockGeneration): void {
  const capacity = Math.max(FIRST_CAPACITY, generation.capacity * 2);
  generation.ids = grown(generation.ids, capacity);
  generation.versions = grown(generation.versions, capacity);
  generation.places = grown(generation.places, capacity);
  generation.lengths = grown(generation.lengths, capacity);
  generation.sizes = grown(generation.sizes, capacity);
  generation.crcs = grown(generation.crcs, capacity);
  const shifts = new Int32Array(capacity);
  shifts.set(generation.shifts);
  generation.shifts = shifts;
  generation.capacity = capacity;
}

function grown(column: Uint32Array, capacity: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(capacity);
  larger.set(column);
  return larger;
}
