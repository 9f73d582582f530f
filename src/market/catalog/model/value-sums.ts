/**
 * Sums of the values that are at least so high, over listings whose values only rise. Such a sum rises with each rise of a value that
 * reaches the bound, and with nothing else.
 */
export interface ValueSums {
  /** A Fenwick tree, highest value first. */
  tree: Float64Array;
}

/** Higher ones share a place: a sum from beyond counts all of them, which is more than was asked for and rises as well. */
const HIGHEST = 65_536;

export function createValueSums(): ValueSums {
  return { tree: new Float64Array(HIGHEST + 1) };
}

export function moveValue({ tree }: ValueSums, before: number, after: number): void {
  if (before === after) return;
  add(tree, before, -before);
  add(tree, after, after);
}

export function sumFrom({ tree }: ValueSums, least: number): number {
  let sum = 0;
  for (let place = placeOf(least); place > 0; place -= place & -place) sum += tree[place] as number;
  return sum;
}

function add(tree: Float64Array, value: number, amount: number): void {
  if (value === 0) return;
  for (let place = placeOf(value); place <= HIGHEST; place += place & -place) {
    tree[place] = (tree[place] as number) + amount;
  }
}

/** From 1 for the highest; nothing is worth adding for 0. */
function placeOf(value: number): number {
  return HIGHEST + 1 - Math.min(Math.max(value, 1), HIGHEST);
}
