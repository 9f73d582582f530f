import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { digestObject, fixDigest } from '../objects.ts';
import { setHash, type Upload } from './store.ts';

export type CompleteUpload = Upload & { sha256: Buffer };

/**
 * Returns a complete upload with the hash of its bytes. Computes the hash if the process ended between the last byte and the hash. Refuses
 * an upload whose bytes have not all arrived, or are not here any more.
 */
export async function ensureComplete(
  market: Pick<Market, 'database' | 'objectStore' | 'random'>,
  upload: Upload,
): Promise<CompleteUpload> {
  const { id, objectId, received, bytes, sha256 } = upload;
  if (sha256 !== null) return { ...upload, sha256 };
  if (objectId === null) throw new Refusal('upload_ended');
  if (received < bytes) {
    throw new Refusal('upload_unfinished', { detail: `The upload has ${received} of ${bytes} bytes.` });
  }
  const digest = await digestObject(market, objectId, bytes);
  const fixed = await market.database.transaction(async (tx) => {
    await setHash(tx, id, digest.sha256);
    return await fixDigest(tx, objectId, digest);
  });
  return { ...upload, sha256: fixed.sha256 };
}
