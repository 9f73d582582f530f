import type { Sort } from '../../../contract/vocabulary.ts';
import type { Figure } from './columns.ts';

/** Sums all values at or above a bound. Values only rise, so a sum rises exactly when a value that reaches the bound rises. */
export interface ValueSums {
  /** A Fenwick tree, highest value first. */
  tree: Float64Array;
}

/** Higher values share one slot. A bound above this sums the whole slot, which is too much but also only rises. */
const HIGHEST = 65_536;

export function createValueSums(): ValueSums {
  return { tree: new Float64Array(HIGHEST + 1) };
}

export function moveValue({ tree }: ValueSums, before: number, after: number): void {
  if (before === after) return;
  addToTree(tree, before, -before);
  addToTree(tree, after, after);
}

export function sumFrom({ tree }: ValueSums, least: number): number {
  let sum = 0;
  for (let index = indexOf(least); index > 0; index -= index & -index) sum += tree[index] as number;
  return sum;
}

function addToTree(tree: Float64Array, value: number, amount: number): void {
  if (value === 0) return;
  for (let index = indexOf(value); index <= HIGHEST; index += index & -index) {
    tree[index] = (tree[index] as number) + amount;
  }
}

/** Returns the tree index of a value (1 for the highest). Callers skip 0, which adds nothing to a sum. */
function indexOf(value: number): number {
  return HIGHEST + 1 - Math.min(Math.max(value, 1), HIGHEST);
}

export type SortRule = {
  /** The figure to sort by. Null if rows are sorted by id alone or by relevance. */
  key: Figure | null;
  /** Whether the figure may rise between two pages. Otherwise it never changes. */
  rises: boolean;
} & (
  | { direction: 'ascending' | 'descending'; pinnedFirst: false }
  // Pinned listings come first, sorted among themselves by the same key.
  | { direction: 'descending'; pinnedFirst: true }
);

/** Rules of all sorts. Never add a figure that can fall, or later pages may repeat a row. */
export const SORT_RULES = {
  new: { key: null, direction: 'descending', pinnedFirst: true, rises: false },
  karma: { key: 'votes', direction: 'descending', pinnedFirst: true, rises: true },
  sales: { key: 'sales', direction: 'descending', pinnedFirst: true, rises: true },
  price_asc: { key: 'priceUnits', direction: 'ascending', pinnedFirst: false, rises: false },
  price_desc: { key: 'priceUnits', direction: 'descending', pinnedFirst: false, rises: false },
  relevance: { key: null, direction: 'descending', pinnedFirst: false, rises: false },
} as const satisfies Record<Sort, SortRule>;

type Rules = typeof SORT_RULES;
type SortsWith<Part> = { [S in Sort]: Rules[S] extends Part ? S : never }[Sort];
export type KeySort = SortsWith<{ key: Figure }>;
export type RisingSort = SortsWith<{ rises: true }>;

/** Order by last edit, kept in addition to one order per sort with a figure. */
const EDITED: SortRule = { key: 'editedRevision', direction: 'descending', pinnedFirst: false, rises: false };
export type OrderName = KeySort | 'edited';

const SORTS = Object.entries(SORT_RULES) as [Sort, SortRule][];
export const ORDERS = [...SORTS, ['edited', EDITED] as const].flatMap(([name, { key, direction }]) =>
  key === null ? [] : [{ name: name as OrderName, key, direction }],
);
export const RISING = SORTS.flatMap(([sort, { key, rises }]) =>
  key !== null && rises ? [{ sort: sort as RisingSort, key }] : [],
);

export const isKeySort = (sort: Sort): sort is KeySort => SORT_RULES[sort].key !== null;
export const isRising = (sort: Sort): sort is RisingSort => SORT_RULES[sort].rises;
