import type { Aisle, ListingState } from '../../contract/vocabulary.ts';
import { attributesOf } from './fields/store.ts';
import type { ListingRow, PackedRow } from './store.ts';

/** In the order of the query. Bytes are hexadecimal, the time is in milliseconds. A thing has an empty commitment. */
type Facts = [
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
  editedAct: string,
  sales: string,
  verifiedSales: string,
  votes: string,
  comments: string,
  supersedes: string,
  supersededBy: string,
  textFlags: string,
];

/** The row as it is when it is read alone. */
export function unpackListing(row: PackedRow): ListingRow {
  const facts = row.facts.split(' ') as Facts;
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
    // No artifact is empty.
    artifact_bytes: Number(facts[10]) || null,
    artifact_media_type: row.artifact_media_type,
    ...attributesOf(row),
    world: row.world,
    edited_act: BigInt(facts[11]),
    sales: BigInt(facts[12]),
    verified_sales: BigInt(facts[13]),
    votes: BigInt(facts[14]),
    comments: BigInt(facts[15]),
    // No listing has the id 0.
    supersedes: BigInt(facts[16]) || null,
    superseded_by: BigInt(facts[17]) || null,
    text_flags: facts[18] === '' ? [] : (facts[18].split(',') as ListingRow['text_flags']),
    appeal: row.appeal,
  };
}
