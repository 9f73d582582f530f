import type { Sort } from '../../../contract/vocabulary.ts';
import type { Figure } from './columns.ts';

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
const EDITED: SortRule = { key: 'editedAct', direction: 'descending', leadsPinned: false, rises: false };
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
