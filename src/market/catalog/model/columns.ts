/** What shelves filter and sort by, one place per listing id: no object per listing. */
export interface Columns {
  capacity: number;
  /** Place in LISTING_STATES, from 1 on; 0: there is no such listing. */
  state: Uint8Array;
  /** Place in AISLES. */
  aisle: Uint8Array;
  merchant: Uint32Array;
  priceUnits: Float64Array;
  votes: Uint32Array;
  sales: Uint32Array;
  verifiedSales: Uint32Array;
  /** How many there are; what they say is in the database alone. */
  comments: Uint32Array;
  editedAct: Float64Array;
  /** TAGS_PER_LISTING places a listing: numbers of tags, then zeros. */
  tags: Uint32Array;
}

export const TAGS_PER_LISTING = 8;
const FIRST_CAPACITY = 1_024;

export function createColumns(): Columns {
  return sized(FIRST_CAPACITY);
}

function sized(capacity: number): Columns {
  return {
    capacity,
    state: new Uint8Array(capacity),
    aisle: new Uint8Array(capacity),
    merchant: new Uint32Array(capacity),
    priceUnits: new Float64Array(capacity),
    votes: new Uint32Array(capacity),
    sales: new Uint32Array(capacity),
    verifiedSales: new Uint32Array(capacity),
    comments: new Uint32Array(capacity),
    editedAct: new Float64Array(capacity),
    tags: new Uint32Array(capacity * TAGS_PER_LISTING),
  };
}

/** Makes room for that id. Arrays are exchanged when it grows: nobody may keep one. */
export function reachId(columns: Columns, id: number): void {
  if (id < columns.capacity) return;
  // A quarter more, as a doubled copy of a million listings would be most of a memory budget.
  const larger = sized(Math.max(id + 1, columns.capacity + (columns.capacity >> 2), columns.capacity + FIRST_CAPACITY));
  larger.state.set(columns.state);
  larger.aisle.set(columns.aisle);
  larger.merchant.set(columns.merchant);
  larger.priceUnits.set(columns.priceUnits);
  larger.votes.set(columns.votes);
  larger.sales.set(columns.sales);
  larger.verifiedSales.set(columns.verifiedSales);
  larger.comments.set(columns.comments);
  larger.editedAct.set(columns.editedAct);
  larger.tags.set(columns.tags);
  Object.assign(columns, larger);
}

export function columnBytes(columns: Columns): number {
  return columns.capacity * (2 + 4 * 5 + 8 * 2 + 4 * TAGS_PER_LISTING);
}
