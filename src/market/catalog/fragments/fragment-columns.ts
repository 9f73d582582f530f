/** Ids end here, so that an id times eight still fits 32 bits. */
const LAST_ID = 2 ** 29 - 1;

const FIRST_CAPACITY = 1024;

/** What is known of each fragment, by id: 32 bytes a listing and no object. Zero everywhere: an unknown id. */
export interface FragmentColumns {
  capacity: number;
  /** The highest id that was ever put. */
  highest: number;
  /** Number of the slab that holds the fragment; 0: it is not in memory. */
  slab: Uint32Array;
  /** Where in the slab the fragment begins, behind its comma. */
  at: Uint32Array;
  size: Uint32Array;
  head: Uint32Array;
  /** Where in the fragment the usual middle belongs, which is not stored with it; 0: nowhere. */
  cut: Uint32Array;
  version: Uint32Array;
  stamp: Uint8Array;
}

export function createFragmentColumns(): FragmentColumns {
  return {
    capacity: 0,
    highest: 0,
    slab: new Uint32Array(0),
    at: new Uint32Array(0),
    size: new Uint32Array(0),
    head: new Uint32Array(0),
    cut: new Uint32Array(0),
    version: new Uint32Array(0),
    stamp: new Uint8Array(0),
  };
}

/** Makes room for an id. Doubling keeps the copying below two moves per listing over the life of the process. */
export function reachId(columns: FragmentColumns, id: number): void {
  if (!Number.isInteger(id) || id < 1 || id > LAST_ID) throw new RangeError(`not a listing id: ${id}`);
  if (id > columns.highest) columns.highest = id;
  if (id < columns.capacity) return;
  const capacity = Math.max(FIRST_CAPACITY, 2 ** Math.ceil(Math.log2(id + 1)));
  columns.slab = grown(columns.slab, capacity);
  columns.at = grown(columns.at, capacity);
  columns.size = grown(columns.size, capacity);
  columns.head = grown(columns.head, capacity);
  columns.cut = grown(columns.cut, capacity);
  columns.version = grown(columns.version, capacity);
  const stamp = new Uint8Array(capacity * 8);
  stamp.set(columns.stamp);
  columns.stamp = stamp;
  columns.capacity = capacity;
}

function grown(column: Uint32Array, capacity: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(capacity);
  larger.set(column);
  return larger;
}
