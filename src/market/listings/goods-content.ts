import { INLINE_ARTIFACT_BYTES } from '../../contract/vocabulary.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import type { Market } from '../context.ts';
import { readObject } from '../goods/chunk-store.ts';
import type { StoredGoods } from '../goods/object-store.ts';
import { type Fingerprint, fingerprintOf } from './near/fingerprint.ts';

/** Goods that were uploaded. Their bytes stay in their store. */
export interface UploadedGoods extends StoredGoods {
  /** The upload that still has the bytes. Null if they belong to a listing or a fee. */
  uploadId: string | null;
  /** The bytes of goods that are small enough to be a string, with which the duplicate guard compares them. Otherwise null. */
  inline: Buffer | null;
}

/** The hidden goods: bytes that came in the request, or uploaded ones. */
export type GoodsContent = Buffer | UploadedGoods;

export function sizeOf(content: GoodsContent): number {
  return Buffer.isBuffer(content) ? content.length : content.bytes;
}

/** Whether goods are so small that they could have come as a string. */
export function isInlineSize(bytes: number): boolean {
  return bytes <= INLINE_ARTIFACT_BYTES;
}

/** A string and an upload of the same bytes differ, because buyers get them in different ways. */
export function isSameContent(one: GoodsContent, other: GoodsContent): boolean {
  if (Buffer.isBuffer(one)) return Buffer.isBuffer(other) && one.equals(other);
  return !Buffer.isBuffer(other) && one.sha256.equals(other.sha256);
}

/** Reads the bytes of small goods, null for larger ones. Call it outside of transactions, because the bytes may be in another store. */
export async function readInline(
  market: Pick<Market, 'database' | 'objectStore'>,
  { objectId, bytes }: Pick<StoredGoods, 'objectId' | 'bytes'>,
): Promise<Buffer | null> {
  if (!isInlineSize(bytes)) return null;
  const pieces: Buffer[] = [];
  for await (const piece of readObject(market, objectId, { from: 0, to: bytes })) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Returns the bytes that the duplicate guard compares, or null for goods that are too large for that. */
export function comparedBytes(content: GoodsContent): Buffer | null {
  if (!isInlineSize(sizeOf(content))) return null;
  const bytes = Buffer.isBuffer(content) ? content : content.inline;
  if (bytes === null) throw new TypeError('the bytes of small goods were not read');
  return bytes;
}

/** Returns what is published of the goods, and the salt that goes with them. Uploaded goods have both since their last byte arrived. */
export function sealContent(
  { random }: Pick<Market, 'random'>,
  content: GoodsContent,
): { salt: Buffer; commitment: Buffer } {
  if (!Buffer.isBuffer(content)) return { salt: content.salt, commitment: content.commitment };
  const salt = random.bytes(32);
  return { salt, commitment: sha256(salt, content) };
}

/** The near guard does not compare larger uploads. */
export function shapeOf(content: GoodsContent): Fingerprint | null {
  const bytes = Buffer.isBuffer(content) ? content : comparedBytes(content);
  return bytes && fingerprintOf(bytes);
}
