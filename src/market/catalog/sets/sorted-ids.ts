/** Ids sorted by key (equal keys newest first), in blocks of at most 4 KiB. Keys are not stored, so remove an id before its key changes. */
export interface SortedIds {
  readonly count: number;
  readonly keyOf: (id: number) => number;
  readonly descending: boolean;
  /** Each has room for BLOCK_IDS, of which the first `sizes[n]` are used. No block is empty. */
  readonly blocks: Uint32Array[];
  readonly sizes: number[];
}

/** The point right after the row with this key and id. */
export interface Point {
  key: number;
  id: number;
}

type MutableOrder = { -readonly [K in keyof SortedIds]: SortedIds[K] };

const BLOCK_IDS = 1024;
/** Ids per block after a fill. The rest is room for insertions, because a full block must be split first. */
const FILLED_IDS = 768;
const JOINED_BELOW_IDS = 256;
/** A position is block * 2^11 + index; an index is at most 1,024. */
const INDEX_BITS = 11;
const INDEX_MASK = (1 << INDEX_BITS) - 1;

export function createSortedIds(keyOf: (id: number) => number, direction: 'ascending' | 'descending'): SortedIds {
  return { count: 0, keyOf, descending: direction === 'descending', blocks: [], sizes: [] };
}

/** Replaces all ids. Keys must be integers from 0 to 2^35 - 1, and ids must be distinct. */
export function fillSorted(order: SortedIds, ids: Uint32Array): void {
  const open: MutableOrder = order;
  const sorted = sortByKey(ids, order.keyOf, order.descending);
  order.blocks.length = 0;
  order.sizes.length = 0;
  open.count = sorted.length;
  for (let start = 0; start < sorted.length; start += FILLED_IDS) {
    const block = new Uint32Array(BLOCK_IDS);
    const part = sorted.subarray(start, start + FILLED_IDS);
    block.set(part);
    order.blocks.push(block);
    order.sizes.push(part.length);
  }
}

/** Returns whether `id` sorts before an id `pointId` with this key. */
function sortsBefore(order: SortedIds, id: number, key: number, pointId: number): boolean {
  const own = order.keyOf(id);
  if (own === key) return id > pointId;
  return own < key !== order.descending;
}

/** Returns the position of the first id that does not sort before the point, or 0 if there are no blocks. */
function positionOf(order: SortedIds, key: number, pointId: number): number {
  const { blocks, sizes } = order;
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (sortsBefore(order, (blocks[middle] as Uint32Array)[0] as number, key, pointId)) low = middle;
    else high = middle - 1;
  }
  const block = blocks[low];
  if (block === undefined) return 0;
  let first = 0;
  let end = sizes[low] as number;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (sortsBefore(order, block[middle] as number, key, pointId)) first = middle + 1;
    else end = middle;
  }
  if (first === sizes[low] && low + 1 < blocks.length) return (low + 1) << INDEX_BITS;
  return (low << INDEX_BITS) | first;
}

export function positionAfter(order: SortedIds, after: Point | null): number {
  return after === null ? 0 : positionOf(order, after.key, after.id - 1);
}

export function blockOf(position: number): number {
  return position >>> INDEX_BITS;
}

export function indexIn(position: number): number {
  return position & INDEX_MASK;
}

function idAt(order: SortedIds, position: number): number {
  const index = indexIn(position);
  const size = order.sizes[blockOf(position)];
  if (size === undefined || index >= size) return 0;
  return (order.blocks[blockOf(position)] as Uint32Array)[index] as number;
}

export function insertSorted(order: SortedIds, id: number): void {
  const open: MutableOrder = order;
  const position = positionOf(order, order.keyOf(id), id);
  if (idAt(order, position) === id) throw new Error(`Listing ${id} is in this order already`);
  if (order.blocks.length === 0) {
    order.blocks.push(new Uint32Array(BLOCK_IDS));
    order.sizes.push(0);
  }
  let at = blockOf(position);
  let index = indexIn(position);
  if (order.sizes[at] === BLOCK_IDS) {
    const half = BLOCK_IDS / 2;
    cutBlock(order, at, half);
    if (index > half) {
      at += 1;
      index -= half;
    }
  }
  const block = order.blocks[at] as Uint32Array;
  const size = order.sizes[at] as number;
  block.copyWithin(index + 1, index, size);
  block[index] = id;
  order.sizes[at] = size + 1;
  open.count += 1;
}

function cutBlock(order: SortedIds, at: number, size: number): void {
  const block = order.blocks[at] as Uint32Array;
  const second = new Uint32Array(BLOCK_IDS);
  second.set(block.subarray(size));
  order.blocks.splice(at + 1, 0, second);
  order.sizes.splice(at, 1, size, BLOCK_IDS - size);
}

/** Call it while `keyOf` still returns the key the id was inserted with. */
export function removeSorted(order: SortedIds, id: number): void {
  const open: MutableOrder = order;
  const position = positionOf(order, order.keyOf(id), id);
  if (idAt(order, position) !== id) throw new Error(`Listing ${id} is not where its key puts it`);
  const at = blockOf(position);
  const index = indexIn(position);
  const size = (order.sizes[at] as number) - 1;
  (order.blocks[at] as Uint32Array).copyWithin(index, index + 1, size + 1);
  order.sizes[at] = size;
  open.count -= 1;
  if (size < JOINED_BELOW_IDS) joinWithNext(order, at);
  if (order.sizes[at] === 0) dropBlock(order, at);
}

/** Joins a small block with the next one. Otherwise many removals would leave many nearly empty blocks. */
function joinWithNext(order: SortedIds, at: number): void {
  const size = order.sizes[at] as number;
  const next = order.sizes[at + 1];
  if (next === undefined || size + next > FILLED_IDS) return;
  (order.blocks[at] as Uint32Array).set((order.blocks[at + 1] as Uint32Array).subarray(0, next), size);
  order.sizes[at] = size + next;
  dropBlock(order, at + 1);
}

function dropBlock(order: SortedIds, at: number): void {
  order.blocks.splice(at, 1);
  order.sizes.splice(at, 1);
}

/** Counts members whose key is at most `key` (in a descending order, at least `key`). */
export function countUpTo(order: SortedIds, key: number): number {
  const position = positionOf(order, key, 0);
  let counted = indexIn(position);
  for (let at = blockOf(position) - 1; at >= 0; at -= 1) counted += order.sizes[at] as number;
  return counted;
}

const HIGHEST_KEY = 2 ** 35 - 1;
const HIGHEST_ID = 2 ** 29 - 1;

/** Index of the less significant half of a 64-bit number on this machine. */
const LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;

/** Sorts by key, then newest id. A key (35 bits) and an id (29 bits) make one 64-bit number, which the engine sorts without callbacks. */
export function sortByKey(ids: Uint32Array, keyOf: (id: number) => number, descending: boolean): Uint32Array {
  const joined = new BigUint64Array(ids.length);
  const halves = new Uint32Array(joined.buffer);
  for (let at = 0; at < ids.length; at += 1) {
    const id = ids[at] as number;
    const key = keyOf(id);
    if (!Number.isInteger(key) || key < 0 || key > HIGHEST_KEY)
      throw new RangeError(`Key ${key} of ${id} has no order`);
    const rank = descending ? HIGHEST_KEY - key : key;
    halves[at * 2 + LOW] = ((rank & 7) << 29) | (HIGHEST_ID - id);
    halves[at * 2 + 1 - LOW] = Math.floor(rank / 8);
  }
  joined.sort();
  const sorted = new Uint32Array(ids.length);
  for (let at = 0; at < ids.length; at += 1) {
    sorted[at] = HIGHEST_ID - ((halves[at * 2 + LOW] as number) & HIGHEST_ID);
  }
  return sorted;
}
