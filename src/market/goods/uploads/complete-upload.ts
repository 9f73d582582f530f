import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { type Digest, digestObject, fixDigest } from '../object-store.ts';
import { findUpload, setHash, type Upload } from './store.ts';

export type CompleteUpload = Upload & { sha256: Buffer };

type Storing = Pick<Market, 'database' | 'objectStore' | 'random'>;

/**
 * Returns a complete upload with the hash of its bytes. Computes the hash if the process ended between the last byte and the hash. Refuses
 * an upload whose bytes have not all arrived, or are not here any more.
 */
export async function ensureComplete(market: Storing, upload: Upload): Promise<CompleteUpload> {
  const { objectId, received, bytes, sha256 } = upload;
  if (sha256 !== null) return { ...upload, sha256 };
  if (objectId === null) throw new Refusal('upload_ended');
  if (received < bytes) {
    throw new Refusal('upload_unfinished', { detail: `The upload has ${received} of ${bytes} bytes.` });
  }
  const held = { ...upload, objectId };
  return await storeDigest(market, held, await digestOnce(market, held));
}

/** Digests that are being computed. Requests for the same upload share one, because reading all bytes takes long. */
const computing = new WeakMap<Storing['database'], Map<bigint, Promise<Digest>>>();

async function digestOnce(market: Storing, upload: Held): Promise<Digest> {
  const ofDatabase = computing.get(market.database) ?? new Map<bigint, Promise<Digest>>();
  computing.set(market.database, ofDatabase);
  const digest = ofDatabase.get(upload.objectId) ?? digestOf(market, upload);
  ofDatabase.set(upload.objectId, digest);
  try {
    return await digest;
  } finally {
    ofDatabase.delete(upload.objectId);
  }
}

type Held = Upload & { objectId: bigint };

/** Reads all bytes. An upload that is deleted meanwhile loses them on the way. */
async function digestOf(market: Storing, upload: Held): Promise<Digest> {
  try {
    return await digestObject(market, upload.objectId, upload.bytes);
  } catch (error) {
    const now = await findUpload(market.database, upload.merchantId, upload.id);
    throw now?.objectId === upload.objectId ? error : new Refusal('upload_ended');
  }
}

/** Stores the digest of an upload whose bytes are all acknowledged. Of several computed at once the first one stays. */
export async function storeDigest(
  { database }: Pick<Market, 'database'>,
  upload: Held,
  digest: Digest,
): Promise<CompleteUpload> {
  const { sha256 } = await database.transaction(async (tx) => {
    // Locks the upload's row first, in the order of those that delete it.
    if (!(await setHash(tx, upload.id, digest.sha256))) throw new Refusal('upload_ended');
    return await fixDigest(tx, upload.objectId, digest);
  });
  return { ...upload, sha256 };
}
