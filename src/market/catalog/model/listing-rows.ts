import type { Attributes } from '../../../contract/listing-fields.ts';
import type { Aisle, ListingState } from '../../../contract/vocabulary.ts';
import { attributesOf, type ListingRow, type PackedFigures, type PackedRow } from '../store.ts';

/** Figures that the filters and sorts of the shelves use. */
export interface ListingFigures extends Attributes {
  id: number;
  merchantId: number;
  priceUnits: number;
  aisle: Aisle;
  state: ListingState;
  tags: readonly string[];
  /** Number of the act that last edited the texts. */
  editedRevision: number;
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
    editedRevision: Number(row.edited_act),
    sales: Number(row.sales),
    verifiedSales: Number(row.verified_sales),
    votes: Number(row.votes),
    comments: Number(row.comments),
    ...attributesOf(row),
  };
}

/** Facts in the order of the query. */
type FigureFacts = [
  id: string,
  merchantId: string,
  priceUnits: string,
  aisle: Aisle,
  state: ListingState,
  editedRevision: string,
  sales: string,
  verifiedSales: string,
  votes: string,
  comments: string,
];

export function unpackFigures(row: PackedFigures): ListingFigures {
  const { facts, tags } = row;
  const [id, merchantId, priceUnits, aisle, state, editedRevision, sales, verifiedSales, votes, comments] = facts.split(
    ' ',
  ) as FigureFacts;
  return {
    id: Number(id),
    merchantId: Number(merchantId),
    priceUnits: Number(priceUnits),
    aisle,
    state,
    tags,
    editedRevision: Number(editedRevision),
    sales: Number(sales),
    verifiedSales: Number(verifiedSales),
    votes: Number(votes),
    comments: Number(comments),
    ...attributesOf(row),
  };
}

/** Facts in the order of the query. Bytes are hexadecimal, times in milliseconds. Things from a city have an empty commitment. */
type ListingFacts = [
  id: string,
  merchantId: string,
  merchant: string,
  priceUnits: string,
  sellerWallet: string,
  aisle: Aisle,
  state: ListingState,
  pinned: 't' | 'f',
  createdAt: string,
  commitment: string,
  artifactBytes: string,
  editedRevision: string,
  sales: string,
  verifiedSales: string,
  votes: string,
  comments: string,
  supersedes: string,
  supersededBy: string,
  textFlags: string,
  buyerVotes: string,
];

/** Restores the row that a query for this listing alone would return. */
export function unpackListing(row: PackedRow): ListingRow {
  const facts = row.facts.split(' ') as ListingFacts;
  return {
    id: BigInt(facts[0]),
    merchant_id: BigInt(facts[1]),
    merchant: facts[2],
    title: row.title,
    description: row.description,
    preview: row.preview,
    price_units: BigInt(facts[3]),
    seller_wallet: Buffer.from(facts[4], 'hex'),
    tags: row.tags,
    keywords: row.keywords,
    aisle: facts[5],
    state: facts[6],
    pinned: facts[7] === 't',
    created_at: new Date(Number(facts[8])),
    removed_at: row.removed_at,
    removed_reason: row.removed_reason,
    removed_reason_code: row.removed_reason_code,
    withdrawn_at: row.withdrawn_at,
    withdrawn_reason: row.withdrawn_reason,
    artifact_commitment: facts[9] === '' ? null : Buffer.from(facts[9], 'hex'),
    // An artifact is never empty, so 0 means none.
    artifact_bytes: Number(facts[10]) || null,
    artifact_media_type: row.artifact_media_type,
    ...attributesOf(row),
    world: row.world,
    edited_act: BigInt(facts[11]),
    sales: BigInt(facts[12]),
    verified_sales: BigInt(facts[13]),
    votes: BigInt(facts[14]),
    buyer_votes: BigInt(facts[19]),
    comments: BigInt(facts[15]),
    // Listing ids begin at 1, so 0 means none.
    supersedes: BigInt(facts[16]) || null,
    superseded_by: BigInt(facts[17]) || null,
    text_flags: facts[18] === '' ? [] : (facts[18].split(',') as ListingRow['text_flags']),
    appeal: row.appeal,
  };
}
