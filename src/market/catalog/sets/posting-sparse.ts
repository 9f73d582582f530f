/**
 * The list form of a posting: whole numbers id * 8 + level in ascending order, with room at the end. An entry holds its level in
 * the low bits so that one array answers both membership and level.
 */

export const NO_ENTRIES = new Uint32Array(0);

export function entryOf(id: number, level: number): number {
  return ((id << 3) | level) >>> 0;
}

/** The first place among `count` entries whose id is at least `id`. */
export function placeOf(entries: Uint32Array, count: number, id: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle] as number) >>> 3 < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Level of `id` at the place `placeOf` gave, 0 when another id stands there. */
export function levelAt(entries: Uint32Array, count: number, place: number, id: number): number {
  if (place >= count) return 0;
  const entry = entries[place] as number;
  return entry >>> 3 === id ? entry & 7 : 0;
}

/** Returns the array that holds the entries afterwards: the same one unless it was full. */
export function insertEntry(entries: Uint32Array, count: number, place: number, entry: number): Uint32Array {
  let target = entries;
  if (count === entries.length) {
    // Most words occur once or twice, so the first steps are small; long lists grow by a quarter to waste little.
    target = new Uint32Array(count < 64 ? Math.max(2, count * 2) : count + (count >>> 2));
    target.set(entries);
  }
  if (place < count) target.copyWithin(place + 1, place, count);
  target[place] = entry;
  return target;
}

/** Returns the array that holds the entries afterwards: a smaller one when most of the room stood empty. */
export function removeEntry(entries: Uint32Array, count: number, place: number): Uint32Array {
  const left = count - 1;
  if (left === 0) return NO_ENTRIES;
  entries.copyWithin(place, place + 1, count);
  if (entries.length <= 16 || left * 3 > entries.length) return entries;
  return entries.slice(0, left + (left >>> 2));
}

/** Place of the last entry before `end` that has this level, -1 when there is none. */
export function lastAtLevel(entries: Uint32Array, end: number, level: number): number {
  for (let place = end - 1; place >= 0; place -= 1) {
    if (((entries[place] as number) & 7) === level) return place;
  }
  return -1;
}
