import type { Incoming, Outgoing } from '../../../platform/http/message.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { SecretGuard } from '../../../platform/secrets.ts';
import type { Market, Merchant } from '../../context.ts';
import { ensureComplete } from './complete-upload.ts';
import { findHere } from './find-here.ts';
import { type Received, receiveBytes } from './receive-bytes.ts';
import type { RunningDigests } from './running-digests.ts';
import type { Upload } from './store.ts';
import { checkUploadType, headersOf, readBodyLength, readChecksum, readUploadOffset } from './tus-headers.ts';
import { checkDisk, type UploadBudget, type UploadReservation } from './upload-limits.ts';
import { isOpenUpload, type OpenUpload } from './write-chunks.ts';

/** A request of tus whose caller is known. */
export interface UploadRequest {
  market: Market;
  guard: SecretGuard;
  budget: UploadBudget;
  digests: RunningDigests;
  merchant: Merchant;
  incoming: Incoming;
}

/** Appends the body to an upload at its offset (tus PATCH). */
export async function appendUpload(request: UploadRequest): Promise<Outgoing> {
  const { market, incoming, merchant } = request;
  const { headers } = incoming;
  checkUploadType(headers);
  const offset = readUploadOffset(headers);
  request.budget.takeRead(merchant);
  const upload = await findHere(request);
  if (offset !== upload.received) throw otherOffset(upload);
  const missing = upload.bytes - offset;
  const announced = readBodyLength(headers) ?? missing;
  if (announced > missing) {
    throw new Refusal('upload_refused', {
      detail: `The body has ${announced} bytes, and the upload is missing ${missing}.`,
    });
  }
  if (missing === 0) await ensureComplete(market, upload);
  if (announced === 0) return answerAppended(market, upload);
  if (!isOpenUpload(upload)) throw new Refusal('upload_ended');
  await checkDisk(market, announced);
  const reserved = await request.budget.take({ merchant, clientNetwork: incoming.clientNetwork }, announced);
  const { upload: now } = await receiveCounted({ ...request, announced, reserved }, upload);
  return answerAppended(market, now);
}

function otherOffset({ received }: Upload): Refusal {
  return new Refusal('upload_offset', {
    detail: `Upload-Offset is not ${received}, where the upload stands.`,
    headers: { 'upload-offset': String(received) },
  });
}

function answerAppended({ clock }: Pick<Market, 'clock'>, upload: Upload): Outgoing {
  const { 'upload-metadata': _, ...headers } = headersOf(upload, clock.now());
  return { status: 204, headers, body: '' };
}

/** Receives the body of a request and charges what arrived, whatever becomes of it. */
export async function receiveCounted(
  request: UploadRequest & { announced: number; reserved: UploadReservation },
  upload: OpenUpload,
): Promise<Received> {
  const { market, guard, digests, incoming, announced, reserved } = request;
  let arrived = 0;
  try {
    if (announced === 0 || incoming.stream === undefined) return { upload, isCut: false };
    return await receiveBytes({
      ...{ market, guard, digests, upload, body: incoming.stream, checksum: readChecksum(incoming.headers) },
      onChunk: (bytes) => {
        arrived += bytes;
      },
    });
  } finally {
    reserved.adjustTo(arrived);
    incoming.notes['upload_bytes'] = arrived;
  }
}
