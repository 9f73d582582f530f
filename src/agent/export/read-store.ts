import { join } from 'node:path';
import { ATTRIBUTE_NAMES } from '../../contract/listing-fields.ts';
import { ofOwner, own } from '../../contract/own-words.ts';
import { INLINE_ARTIFACT_BYTES } from '../../contract/vocabulary.ts';
import { sourceOf } from '../../sdk/goods/byte-source.ts';
import { refusedFile } from '../agent-error.ts';
import type { GoodsFile } from '../goods/goods-file.ts';
import { matchesCommitment } from '../save-goods.ts';
import type { SellGoodsOptions } from '../sell-goods.ts';
import { createGoodsOnceCheck, exportChanged, openForReading } from './export-folder.ts';
import { type ListingFile, listingFile, type StoreManifest } from './export-format.ts';

type Body = SellGoodsOptions['listing'];

export interface StoredListing {
  listing: ListingFile['listing'];
  fee: ListingFile['fee'];
  recoverySlip: string | null;
  /** Null for a city thing. */
  bytes: Uint8Array | null;
  /** Body for listing it again. Null for a city thing. The caller sets `supersedes`, because it knows the new ID. */
  body: Body | null;
  /** Goods that are too large for the body. */
  file?: GoodsFile;
}

export interface StoredStore {
  content: StoreManifest;
  /** Oldest first. */
  listings: StoredListing[];
}

/**
 * Reads and checks a whole store export: every file against its digest, and all goods against their published commitments. Throws
 * `not_an_export`, `not_whole`, `export_unreadable`, `export_changed`, `other_export`.
 */
export async function readStore(dir: string): Promise<StoredStore> {
  const { folder, content } = await openForReading(dir);
  try {
    if (content.kind !== 'store')
      throw refusedFile(own`${ofOwner(folder.path)} has no export of a store`, undefined, 'other_export');
    const listings: StoredListing[] = [];
    const mustBeOnce = createGoodsOnceCheck();
    for (const name of Object.keys(content.files).filter((one) => one.startsWith('listings/'))) {
      const file = await folder.readJson(name, listingFile);
      if (file === null) throw exportChanged(own`${ofOwner(join(folder.path, name))} is missing`);
      mustBeOnce(file.goods?.file ?? null);
      const bytes = file.goods === null ? null : await folder.readBytes(file.goods.file);
      mustBePromised(file, bytes);
      const { listing, fee, recovery_slip: recoverySlip } = file;
      listings.push({ listing, fee, recoverySlip, bytes, body: bodyOf(file, bytes), ...fileOf(file, bytes) });
    }
    return { content, listings: listings.toSorted((a, b) => a.listing.id - b.listing.id) };
  } finally {
    await folder.release();
  }
}

function mustBePromised({ goods, listing }: ListingFile, bytes: Uint8Array | null): void {
  if (goods === null && listing.artifact_commitment === null) return;
  const { salt } = goods ?? {};
  const commitment = listing.artifact_commitment;
  if (bytes !== null && salt !== undefined && matchesCommitment(bytes, { salt, commitment })) return;
  throw exportChanged(own`The goods of listing ${listing.id} don’t match its commitment`);
}

function fileOf({ goods }: ListingFile, bytes: Uint8Array | null): { file?: GoodsFile } {
  if (goods === null || bytes === null || bytes.length <= INLINE_ARTIFACT_BYTES) return {};
  return {
    file: {
      source: sourceOf(bytes),
      path: goods.file,
      ...(goods.filename === null ? {} : { filename: goods.filename }),
      ...(goods.media_type === null ? {} : { mediaType: goods.media_type }),
    },
  };
}

function bodyOf({ listing, goods }: ListingFile, bytes: Uint8Array | null): Body | null {
  if (goods === null || bytes === null) return null;
  const { title, description, preview, tags, keywords, aisle, price_usdc } = listing;
  const attributes = ATTRIBUTE_NAMES.flatMap((name) => (listing[name] === null ? [] : [[name, listing[name]]]));
  const isInline = bytes.length <= INLINE_ARTIFACT_BYTES;
  const text = isInline ? Buffer.from(bytes).toString('utf8') : '';
  const isText = goods.encoding === 'utf-8' && Buffer.from(text).equals(bytes);
  return {
    ...{ title, description, preview, tags, aisle, price_usdc },
    // Left out if empty, so that the body stays the one that an earlier version sent, and a market without keywords takes it.
    ...(keywords.length === 0 ? {} : { keywords }),
    ...Object.fromEntries(attributes),
    seller_wallet: listing.seller_wallet,
    ...(isInline ? { artifact: isText ? text : Buffer.from(bytes).toString('base64') } : {}),
    ...(isInline ? { artifact_encoding: isText ? 'utf-8' : 'base64' } : {}),
    ...(goods.media_type === null ? {} : { artifact_media_type: goods.media_type }),
    ...(goods.filename === null ? {} : { artifact_filename: goods.filename }),
  };
}
