import { isDeepStrictEqual } from 'node:util';
import type { ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { ATTRIBUTE_NAMES, type Attributes } from '../../contract/listing-fields.ts';
import { type OwnWords, ofOwner, own } from '../../contract/own-words.ts';
import type { Client } from '../../sdk/client.ts';
import { type OwnListing, ownListingPages, type SaleRecord, salePages } from '../../sdk/pages.ts';
import { ArtifactMismatch, artifactBytes } from '../../sdk/payments/artifact-commitment.ts';
import { AgentError, refusedFile } from '../agent-error.ts';
import { goodsName, matchesCommitment } from '../save-goods.ts';
import { type ExportFolder, openForWriting } from './export-folder.ts';
import { EXPORT_VERSION, type ListingFile, listingFile, type StoreManifest } from './export-format.ts';

export interface ExportStoreOptions {
  /** Client with the merchant's key. */
  client: Client;
  /** Folder of the export. Created if missing; otherwise it must be empty or contain an earlier export of the same store. */
  dir: string;
  now(): number;
  onProgress?(done: { listings: number; of: number }): void;
}

export interface ExportedStore {
  /** Absolute path. */
  dir: string;
  handle: string;
  listings: number;
  /** Number of listings downloaded now. The others had been exported before. */
  read: number;
  sales: number;
}

/**
 * Writes a merchant's whole store to a folder: listings in every state with goods, salt, fee and slip, and the sales, but no key or
 * recovery codes. Listings that the market no longer has stay in an older export. If stopped, the same call resumes; until it completes,
 * the manifest says that the export is incomplete. Throws `not_an_export`, `other_export`, `goods_mismatch`, and what the client throws.
 */
export async function exportStore(options: ExportStoreOptions): Promise<ExportedStore> {
  const { client, dir, now } = options;
  const { merchant } = (await client.getMe({ query: { listings_limit: '1' } })).body;
  const folder = await openForWriting(dir);
  try {
    const begun: StoreManifest = {
      kind: 'store',
      version: EXPORT_VERSION,
      market: client.baseUrl,
      merchant_id: merchant.id,
      handle: merchant.handle,
      begun_at: new Date(now()).toISOString(),
      completed_at: null,
      files: {},
    };
    await mustBeSameStore(folder, begun);
    await folder.writeManifest(begun);
    const { listings, read } = await exportListings(options, folder);
    const sales = await exportSales(client, folder);
    const files = await folder.digests();
    await folder.writeManifest({ ...begun, files, completed_at: new Date(now()).toISOString() });
    return { dir: folder.path, handle: merchant.handle, listings, read, sales };
  } finally {
    await folder.release();
  }
}

async function mustBeSameStore(folder: ExportFolder, { market, handle }: StoreManifest): Promise<void> {
  const before = await folder.readManifest();
  if (before === null || (before.kind === 'store' && before.market === market && before.handle === handle)) return;
  const what = before.kind === 'store' ? own`another store, or of a store at another market` : own`purchases`;
  throw refusedFile(own`${ofOwner(folder.path)} has an export of ${what}`, own`Name another folder.`, 'other_export');
}

async function exportListings({ client, onProgress }: ExportStoreOptions, folder: ExportFolder) {
  let [listings, read] = [0, 0];
  for await (const page of ownListingPages(client)) {
    for (const row of page.rows) {
      if (!(await isExported(folder, row))) {
        await exportListing(client, folder, row.id);
        read += 1;
      }
      listings += 1;
      onProgress?.({ listings, of: page.total });
    }
  }
  return { listings, read };
}

const nameOf = (id: number): string => `listings/${id}.json`;

/** Whether an earlier call has written the identical listing, goods included. */
async function isExported(folder: ExportFolder, row: OwnListing): Promise<boolean> {
  const file = await folder.readJson(nameOf(row.id), listingFile);
  if (file === null || !isDeepStrictEqual(file.listing, row)) return false;
  if (file.goods === null) return true;
  const bytes = await folder.readBytes(file.goods.file);
  const promised = { salt: file.goods.salt, commitment: file.listing.artifact_commitment };
  return bytes !== null && matchesCommitment(bytes, promised);
}

type Own = ResultOf<Endpoints['getOwnListing']>['body'];

async function exportListing(client: Client, folder: ExportFolder, id: number): Promise<void> {
  const own = (await client.getOwnListing({ params: { id } })).body;
  await mustBeSameGoods(folder, own);
  const goods = await exportGoods(client, folder, own);
  await folder.write(nameOf(id), {
    version: EXPORT_VERSION,
    listing: own.listing,
    goods,
    fee: own.fee,
    recovery_slip: own.recovery_slip ?? null,
  });
}

/** A market can't replace goods that have a price, so different goods must not overwrite the older copy. */
async function mustBeSameGoods(folder: ExportFolder, { listing }: Own): Promise<void> {
  const before = await folder.readJson(nameOf(listing.id), listingFile);
  if (before === null || before.goods === null || before.listing.price_usdc === 0) return;
  if (before.listing.artifact_commitment === listing.artifact_commitment) return;
  throw otherGoods(own`The market now has different goods for listing ${listing.id} than those exported before`);
}

function otherGoods(title: OwnWords): AgentError {
  const nextStep = own`Keep your existing export, and ask the market’s operator.`;
  return new AgentError('refused', { reason: 'goods_mismatch', title, nextStep });
}

async function exportGoods(client: Client, folder: ExportFolder, whole: Own): Promise<ListingFile['goods']> {
  const { listing, artifact_encoding: encoding, artifact_salt: salt } = whole;
  if (encoding === null || salt === null) return null;
  const bytes = await readGoods(client, whole);
  if (bytes === null) return null;
  if (!matchesCommitment(bytes, { salt, commitment: listing.artifact_commitment })) throw wrongGoods(listing.id);
  const { artifact_filename: filename, artifact_media_type: media_type } = whole;
  const file = `goods/${goodsName({ listing_id: listing.id, artifact_filename: filename, title: listing.title })}`;
  await folder.write(file, bytes);
  return { file, bytes: bytes.length, encoding, media_type, filename, salt };
}

/** Returns the bytes of one listing. An export holds them in memory, as it does when it is read. Null for a city thing. */
async function readGoods(client: Client, whole: Own): Promise<Uint8Array | null> {
  const { listing, artifact, artifact_encoding, download, artifact_salt } = whole;
  if (artifact_encoding === null || artifact_salt === null) return null;
  if (artifact !== null) return artifactBytes({ artifact, artifact_encoding });
  if (download === null || listing.artifact_commitment === null) return null;
  const goods = {
    ...{ listing_id: listing.id, title: listing.title, artifact, download, artifact_encoding, artifact_salt },
    ...{ artifact_media_type: whole.artifact_media_type ?? '', artifact_filename: whole.artifact_filename },
    ...(Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, listing[name]])) as Attributes),
    ...{ purchase: null, receipt: null, do_not_pay_again: true as const },
  };
  const parts: Uint8Array[] = [];
  try {
    await client.download(goods, {
      commitment: listing.artifact_commitment,
      to: (part) => void parts.push(part),
    });
  } catch (error) {
    throw error instanceof ArtifactMismatch ? wrongGoods(listing.id) : error;
  }
  return Buffer.concat(parts);
}

function wrongGoods(id: number): AgentError {
  return otherGoods(own`The market’s goods for listing ${id} don’t match their commitment`);
}

/** Writes `sales.json`, newest first. A sale with its transaction is the seller's receipt. */
async function exportSales(client: Client, folder: ExportFolder): Promise<number> {
  const sales: SaleRecord[] = [];
  for await (const { rows } of salePages(client)) sales.push(...rows);
  await folder.write('sales.json', { version: EXPORT_VERSION, sales });
  return sales.length;
}
