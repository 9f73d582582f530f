import type { Endpoints } from '../../../contract/index.ts';
import { MOST_OPEN_UPLOADS, MOST_UPLOADS_SHOWN, type UploadOut } from '../../../contract/uploads.ts';
import { isoTime } from '../../../platform/clock.ts';
import { toHex } from '../../../platform/hex.ts';
import type { MarketOperation } from '../../context.ts';
import { listUploadsOf, stateOf, type Upload } from './store.ts';

export const listUploads: MarketOperation<Endpoints['listUploads']> = async (market, { caller }) => {
  const uploads = await listUploadsOf(market.database, caller.id, MOST_UPLOADS_SHOWN);
  return {
    status: 200,
    body: {
      uploads: uploads.map((upload) => presentUpload(upload, market.clock.now())),
      total: uploads.length,
      most_open: MOST_OPEN_UPLOADS,
      most_staged_bytes: mostStagedBytes(market.config.limits),
    },
  };
};

export function mostStagedBytes({ artifact_bytes: largest }: { artifact_bytes: number }): number {
  return 2 * largest;
}

export function presentUpload(upload: Upload, now: number): UploadOut {
  const state = stateOf(upload, now);
  return {
    id: upload.id,
    state,
    bytes: upload.bytes,
    received_bytes: upload.received,
    sha256: upload.sha256 && toHex(upload.sha256),
    filename: upload.filename,
    media_type: upload.mediaType,
    listing_id: upload.listingId === null ? null : Number(upload.listingId),
    created_at: isoTime(upload.createdAt),
    expires_at: state === 'held' || state === 'listed' ? null : isoTime(upload.expiresAt),
  };
}
