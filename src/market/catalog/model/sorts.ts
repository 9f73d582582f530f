import type { Sort } from '../../../contract/vocabulary.ts';
import type { Figure } from './columns.ts';

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

export type SortRule = {
  /** The figure that rows are sorted by; null: their ids alone, or by relevance a score. */
  key: Figure | null;
  /** Whether the figure may rise while a walk goes on. Else it never changes. */
  rises: boolean;
} & (
  | { direction: 'ascending' | 'descending'; leadsPinned: false }
  // The pinned come first, those with the highest key before others.
  | { direction: 'descending'; leadsPinned: true }
);

/** Every sort of the vocabulary. Walks show no row twice because a key rises or stays: a figure that can fall has no place here. */
export const SORT_RULES = {
  new: { key: null, direction: 'descending', leadsPinned: true, rises: false },
  karma: { key: 'votes', direction: 'descending', leadsPinned: true, rises: true },
  sales: { key: 'sales', direction: 'descending', leadsPinned: true, rises: true },
  price_asc: { key: 'priceUnits', direction: 'ascending', leadsPinned: false, rises: false },
  price_desc: { key: 'priceUnits', direction: 'descending', leadsPinned: false, rises: false },
  relevance: { key: null, direction: 'descending', leadsPinned: false, rises: false },
} as const satisfies Record<Sort, SortRule>;

type Rules = typeof SORT_RULES;
type With<Part> = { [S in Sort]: Rules[S] extends Part ? S : never }[Sort];
export type KeySort = With<{ key: Figure }>;
/** By a figure that rises. */
export type RisingSort = With<{ rises: true }>;

/** The orders that a copy keeps: of each sort by a figure, and the last edited first. */
const EDITED: SortRule = { key: 'editedRevision', direction: 'descending', leadsPinned: false, rises: false };
export type OrderName = KeySort | 'edited';

const ALL = Object.entries(SORT_RULES) as [Sort, SortRule][];
export const ORDERS = [...ALL, ['edited', EDITED] as const].flatMap(([name, { key, direction }]) =>
  key === null ? [] : [{ name: name as OrderName, key, direction }],
);
export const RISING = ALL.flatMap(([sort, { key, rises }]) =>
  key !== null && rises ? [{ sort: sort as RisingSort, key }] : [],
);

export const isKeySort = (sort: Sort): sort is KeySort => SORT_RULES[sort].key !== null;
export const isRising = (sort: Sort): sort is RisingSort => SORT_RULES[sort].rises;
