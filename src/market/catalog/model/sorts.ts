import type { Sort } from '../../../contract/vocabulary.ts';
import type { Figure } from './columns.ts';

/** Sums all values at or above a bound. Values only rise, so a sum rises exactly when a value that reaches the bound rises. */
export interface ValueSums {
  /** A Fenwick tree, highest value first. */
  tree: Float64Array;
}

/** Higher values share one slot. A bound above this also counts the others in that slot: more than asked for, but it rises as well. */
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

/** The tree index of a value, 1 for the highest. Callers skip 0: it adds nothing to a sum. */
function indexOf(value: number): number {
  return HIGHEST + 1 - Math.min(Math.max(value, 1), HIGHEST);
}

export type SortRule = {
  /** The figure rows are sorted by; null: by id alone, or by a relevance score. */
  key: Figure | null;
  /** Whether the figure may rise between two pages. Otherwise it never changes. */
  rises: boolean;
} & (
  | { direction: 'ascending' | 'descending'; pinnedFirst: false }
  // Pinned listings come first, sorted among themselves by the same key.
  | { direction: 'descending'; pinnedFirst: true }
);

/** Every sort of the vocabulary. Pages never repeat a row, because keys rise or stay: a figure that can fall must not be added here. */
export const SORT_RULES = {
  new: { key: null, direction: 'descending', pinnedFirst: true, rises: false },
  karma: { key: 'votes', direction: 'descending', pinnedFirst: true, rises: true },
  sales: { key: 'sales', direction: 'descending', pinnedFirst: true, rises: true },
  price_asc: { key: 'priceUnits', direction: 'ascending', pinnedFirst: false, rises: false },
  price_desc: { key: 'priceUnits', direction: 'descending', pinnedFirst: false, rises: false },
  relevance: { key: null, direction: 'descending', pinnedFirst: false, rises: false },
} as const satisfies Record<Sort, SortRule>;

type Rules = typeof SORT_RULES;
type With<Part> = { [S in Sort]: Rules[S] extends Part ? S : never }[Sort];
export type KeySort = With<{ key: Figure }>;
export type RisingSort = With<{ rises: true }>;

/** A model keeps one order per sort with a figure, and this one: the last edited first. */
const EDITED: SortRule = { key: 'editedRevision', direction: 'descending', pinnedFirst: false, rises: false };
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
