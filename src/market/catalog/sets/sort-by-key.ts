const HIGHEST_KEY = 2 ** 35 - 1;
const HIGHEST_ID = 2 ** 29 - 1;

/** Half of a 64-bit number that counts less, in the byte order of this machine. */
const LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;

/**
 * The ids by key, equal keys newest id first. Keys must be whole numbers from 0 to 2^35 - 1: a key (35 bits) and an id (29 bits)
 * then make one 64-bit number, and the engine sorts an array of those without asking a comparison function.
 */
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
