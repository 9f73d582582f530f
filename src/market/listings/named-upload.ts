import { UPLOAD_HOURS } from '../../contract/uploads.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { findStored } from '../goods/object-store.ts';
import { ensureComplete } from '../goods/uploads/complete-upload.ts';
import {
  findUpload,
  listUpload,
  lockListable,
  lockUploadOfPayment,
  releaseDecided,
  stateOf,
  type Upload,
} from '../goods/uploads/store.ts';
import { type GoodsContent, readInline, type UploadedGoods } from './goods-content.ts';

/** A complete upload that nothing else has. */
export interface ListableUpload {
  goods: UploadedGoods;
  filename: string | null;
  mediaType: string | null;
}

/** An upload that a request names in place of an artifact. */
export interface NamedUpload {
  /** Identifies the bytes, even after they are gone. Null if they never all arrived, or the merchant has no such upload. */
  sha256: Buffer | null;
  found: ListableUpload | Refusal;
}

/** Reads an upload without locking it. An earlier request with these bytes is answered before the refusal counts. */
export async function readNamedUpload(market: Market, merchantId: bigint, id: string): Promise<NamedUpload> {
  const upload = await findReleased(market, merchantId, id);
  if (upload === null) return { sha256: null, found: new Refusal('upload_not_found') };
  const refusal = refusalOfState(upload, market.clock.now());
  if (refusal !== null) return { sha256: upload.sha256, found: refusal };
  try {
    const { objectId, sha256 } = await ensureComplete(market, upload);
    const stored = objectId === null ? null : await findStored(market.database, objectId);
    if (stored === null) return { sha256, found: new Refusal('upload_ended') };
    const { filename, mediaType } = upload;
    const goods = { ...stored, uploadId: id, inline: await readInline(market, stored) };
    return { sha256, found: { goods, filename, mediaType } };
  } catch (error) {
    if (error instanceof Refusal) return { sha256: upload.sha256, found: error };
    // An upload that is deleted meanwhile loses its bytes while they are read.
    const current = await findUpload(market.database, merchantId, id);
    if (current?.objectId === upload.objectId) throw error;
    return { sha256: upload.sha256, found: new Refusal('upload_ended') };
  }
}

async function findReleased({ database, clock }: Market, merchantId: bigint, id: string): Promise<Upload | null> {
  const upload = await findUpload(database, merchantId, id);
  if (upload === null || upload.paymentId === null) return upload;
  await releaseDecided(database, id, releasedUntil(clock.now()));
  return await findUpload(database, merchantId, id);
}

/** Returns when an upload expires that a fee gives back. */
export function releasedUntil(nowMs: number): Date {
  return new Date(nowMs + UPLOAD_HOURS * 3_600_000);
}

function refusalOfState(upload: Upload, nowMs: number): Refusal | null {
  switch (stateOf(upload, nowMs)) {
    case 'held':
      return new Refusal('upload_in_use');
    case 'listed':
      return new Refusal('upload_ended', { detail: `Listing ${upload.listingId} has them.` });
    case 'deleted':
      return new Refusal('upload_ended');
    case 'open':
    case 'complete':
      return null;
  }
}

/** Locks the upload whose bytes are to be listed. Call it before the lock `listings`. Refuses if anything else has the bytes. */
export async function lockUploaded(
  tx: Tx,
  market: Pick<Market, 'clock'>,
  merchantId: bigint,
  content: GoodsContent,
): Promise<void> {
  const id = uploadIdOf(content);
  const now = new Date(market.clock.now());
  if (id === null || (await lockListable(tx, id, now))) return;
  throw await lostUpload(tx, merchantId, { id, now });
}

/** Locks the upload that a fee holds, for its listing. */
export async function takeHeldUpload(tx: Tx, paymentId: bigint): Promise<ListableUpload> {
  const upload = await lockUploadOfPayment(tx, paymentId);
  const stored = upload?.objectId ? await findStored(tx, upload.objectId) : null;
  if (upload === null || stored === null) throw new Refusal('upload_ended');
  const { filename, mediaType } = upload;
  return { goods: { ...stored, uploadId: null, inline: null }, filename, mediaType };
}

/** Passes the bytes of an upload to a listing. Call it with the upload's row locked. */
export async function passUpload(tx: Tx, by: Parameters<typeof listUpload>[1]): Promise<void> {
  if (!(await listUpload(tx, by))) throw new TypeError('an upload that was locked is gone');
}

export function uploadIdOf(content: GoodsContent): string | null {
  return Buffer.isBuffer(content) ? null : content.uploadId;
}

/** Builds the refusal for an upload that was complete when the request began. */
export async function lostUpload(
  queryable: Queryable,
  merchantId: bigint,
  { id, now }: { id: string; now: Date },
): Promise<Refusal> {
  const upload = await findUpload(queryable, merchantId, id);
  return (upload && refusalOfState(upload, now.getTime())) ?? new Refusal('upload_ended');
}
