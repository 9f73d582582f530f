import type { Attributes } from '../../../contract/listing-fields.ts';
import type { Aisle, ListingState } from '../../../contract/vocabulary.ts';
import { attributesOf } from '../fields/store.ts';
import type { ListingRow, PackedFigures } from '../store.ts';

/** What decides on which shelves a listing stands, and where. */
export interface ListingFigures extends Attributes {
  id: number;
  merchantId: number;
  priceUnits: number;
  aisle: Aisle;
  state: ListingState;
  tags: readonly string[];
  /** The act with which its texts were last changed. */
  editedAct: number;
  sales: number;
  verifiedSales: number;
  votes: number;
  comments: number;
}

export function figuresOf(row: ListingRow): ListingFigures {
  return {
    id: Number(row.id),
    merchantId: Number(row.merchant_id),
    priceUnits: Number(row.price_units),
    aisle: row.aisle,
    state: row.state,
    tags: row.tags,
    editedAct: Number(row.edited_act),
    sales: Number(row.sales),
    verifiedSales: Number(row.verified_sales),
    votes: Number(row.votes),
    comments: Number(row.comments),
    ...attributesOf(row),
  };
}

/** In the order of the query. */
type Facts = [
  id: string,
  merchantId: string,
  priceUnits: string,
  aisle: Aisle,
  state: ListingState,
  editedAct: string,
  sales: string,
  verifiedSales: string,
  votes: string,
  comments: string,
];

export function unpackFigures(row: PackedFigures): ListingFigures {
  const { facts, tags } = row;
  const [id, merchantId, priceUnits, aisle, state, editedAct, sales, verifiedSales, votes, comments] = facts.split(
    ' ',
  ) as Facts;
  return {
    id: Number(id),
    merchantId: Number(merchantId),
    priceUnits: Number(priceUnits),
    aisle,
    state,
    tags,
    editedAct: Number(editedAct),
    sales: Number(sales),
    verifiedSales: Number(verifiedSales),
    votes: Number(votes),
    comments: Number(comments),
    ...attributesOf(row),
  };
}
