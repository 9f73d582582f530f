import { ATTRIBUTE_NAMES, type AttributeName } from '../../../contract/listing-fields.ts';

export const TAGS_PER_LISTING = 8;

/** Columns that the shelves filter and sort by, with their array types. */
const ARRAY_TYPES = {
  /** Index in LISTING_STATES plus one, or 0 if there is no such listing. */
  state: Uint8Array,
  /** Index in AISLES. */
  aisle: Uint8Array,
  merchant: Uint32Array,
  priceUnits: Float64Array,
  votes: Uint32Array,
  sales: Uint32Array,
  verifiedSales: Uint32Array,
  /** The number of comments; their text is only in the database. */
  comments: Uint32Array,
  editedRevision: Float64Array,
  /** Label numbers of the tags, padded with zeros. */
  tags: Uint32Array,
  /** Label number of each attribute, or 0. */
  ...(Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, Uint32Array])) as Record<
    AttributeName,
    Uint32ArrayConstructor
  >),
};
const SLOTS: Readonly<Record<string, number>> = { tags: TAGS_PER_LISTING };

type ArrayTypes = typeof ARRAY_TYPES;

/** One slot per listing id (eight for tags), so that listings need no objects. */
export type Columns = { capacity: number } & { [K in keyof ArrayTypes]: InstanceType<ArrayTypes[K]> };

/** Reads a figure of a listing. One function per figure, so that the engine compiles each loop for the column it reads. */
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

export function createColumns(capacity = FIRST_CAPACITY): Columns {
  const columns = Object.entries(ARRAY_TYPES).map(([name, ArrayType]) => [
    name,
    new ArrayType(capacity * (SLOTS[name] ?? 1)),
  ]);
  return { capacity, ...Object.fromEntries(columns) };
}

/** Makes room for the id. Growing replaces the arrays, so callers must not keep a reference to one. */
export function reachId(columns: Columns, id: number): void {
  if (id < columns.capacity) return;
  // Grow by a quarter, because doubling a million listings would take most of the memory budget.
  const larger = createColumns(
    Math.max(id + 1, columns.capacity + (columns.capacity >> 2), columns.capacity + FIRST_CAPACITY),
  );
  for (const name of Object.keys(ARRAY_TYPES) as (keyof ArrayTypes)[]) larger[name].set(columns[name]);
  Object.assign(columns, larger);
}

export function columnBytes({ capacity, ...columns }: Columns): number {
  return Object.values(columns).reduce((sum, { byteLength }) => sum + byteLength, 0);
}
