import { ATTRIBUTE_NAMES, type AttributeName } from '../../../contract/listing-fields.ts';

export const TAGS_PER_LISTING = 8;

/** What shelves filter and sort by. Of each column the kind of its numbers, and how many of them a listing has if it is not one. */
const KINDS = {
  /** Place in LISTING_STATES, from 1 on; 0: there is no such listing. */
  state: Uint8Array,
  /** Place in AISLES. */
  aisle: Uint8Array,
  merchant: Uint32Array,
  priceUnits: Float64Array,
  votes: Uint32Array,
  sales: Uint32Array,
  verifiedSales: Uint32Array,
  /** How many there are; what they say is in the database alone. */
  comments: Uint32Array,
  editedRevision: Float64Array,
  /** Numbers of tags, then zeros. */
  tags: Uint32Array,
  /** Of what is said in each attribute the number; 0: nothing. */
  ...(Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, Uint32Array])) as Record<
    AttributeName,
    Uint32ArrayConstructor
  >),
};
const PLACES: Readonly<Record<string, number>> = { tags: TAGS_PER_LISTING };

type Kinds = typeof KINDS;

/** One place per listing id, of tags several: no object per listing. */
export type Columns = { capacity: number } & { [K in keyof Kinds]: InstanceType<Kinds[K]> };

/** The figures of a listing. Each has a function of its own, so that what reads one in a loop is compiled for that one. */
export const READ_FIGURE = {
  priceUnits: ({ priceUnits }: Columns, id: number): number => priceUnits[id] ?? 0,
  votes: ({ votes }: Columns, id: number): number => votes[id] ?? 0,
  sales: ({ sales }: Columns, id: number): number => sales[id] ?? 0,
  verifiedSales: ({ verifiedSales }: Columns, id: number): number => verifiedSales[id] ?? 0,
  comments: ({ comments }: Columns, id: number): number => comments[id] ?? 0,
  editedRevision: ({ editedRevision }: Columns, id: number): number => editedRevision[id] ?? 0,
};
export type Figure = keyof typeof READ_FIGURE;
export const FIGURES = Object.keys(READ_FIGURE) as readonly Figure[];

const FIRST_CAPACITY = 1_024;

export function createColumns(): Columns {
  return sized(FIRST_CAPACITY);
}

function sized(capacity: number): Columns {
  const made = Object.entries(KINDS).map(([name, Kind]) => [name, new Kind(capacity * (PLACES[name] ?? 1))]);
  return { capacity, ...Object.fromEntries(made) };
}

/** Makes room for that id. New arrays replace the old ones when it grows: callers must not keep a reference to an array. */
export function reachId(columns: Columns, id: number): void {
  if (id < columns.capacity) return;
  // A quarter more, as a doubled copy of a million listings would be most of a memory budget.
  const larger = sized(Math.max(id + 1, columns.capacity + (columns.capacity >> 2), columns.capacity + FIRST_CAPACITY));
  for (const name of Object.keys(KINDS) as (keyof Kinds)[]) larger[name].set(columns[name]);
  Object.assign(columns, larger);
}

export function columnBytes({ capacity, ...columns }: Columns): number {
  return Object.values(columns).reduce((sum, { byteLength }) => sum + byteLength, 0);
}
