import { base62 } from '../../../contract/base62.ts';
import { UPLOAD_HOURS, UPLOAD_PATH } from '../../../contract/uploads.ts';
import type { Outgoing } from '../../../platform/http/message.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Merchant } from '../../context.ts';
import { storeNameOf } from '../chunk-store.ts';
import { createObject } from '../object-store.ts';
import { receiveCounted, type UploadRequest } from './append-upload.ts';
import { deleteUpload } from './receive-bytes.ts';
import { insertUpload, lockUploads } from './store.ts';
import {
  checkUploadType,
  headersOf,
  readBodyLength,
  readMetadata,
  readUploadLength,
  type UploadNames,
} from './tus-headers.ts';
import { checkDisk, checkStaged, checkTotal } from './upload-limits.ts';
import type { OpenUpload } from './write-chunks.ts';

const ID_BYTES = 16;
const ID_LENGTH = 22;
const HOUR_MS = 3_600_000;

/** Creates an upload, and appends the body if the request has one (tus creation and creation-with-upload). */
export async function startUpload(request: UploadRequest): Promise<Outgoing> {
  const { market, incoming, merchant, guard } = request;
  const { headers } = incoming;
  const bytes = readUploadLength(headers);
  const { artifact_bytes: largest } = market.config.limits;
  if (bytes > largest) {
    throw new Refusal('upload_too_large', {
      detail: `Upload-Length is ${bytes}, and this market takes ${largest} bytes.`,
    });
  }
  const names = readMetadata(headers);
  if ([names.filename, names.mediaType].some((name) => name !== null && guard.inText(name))) {
    throw new Refusal('secret_in_payload');
  }
  const announced = readBodyLength(headers) ?? bytes;
  if (announced > 0) checkUploadType(headers);
  request.budget.takeRead(merchant);
  await checkTotal(market, { merchantId: merchant.id, bytes });
  await checkDisk(market, bytes);
  const reserved = await request.budget.take({ merchant, clientNetwork: incoming.clientNetwork }, announced);
  const counted = { ...request, announced, reserved };
  const upload = await insertNew(market, merchant, { bytes, ...names }).catch((error: unknown) => {
    reserved.adjustTo(0);
    throw error;
  });
  return answerCreated(market, await receiveFirst(counted, upload));
}

/** Receives the body of a request that creates its upload. A client that gets no address of the upload could never continue it. */
async function receiveFirst(request: Parameters<typeof receiveCounted>[0], upload: OpenUpload): Promise<OpenUpload> {
  const { market } = request;
  try {
    const { upload: now, isCut } = await receiveCounted(request, upload);
    if (isCut) await deleteUpload(market, upload.id);
    return now;
  } catch (error) {
    if (error instanceof Refusal) await deleteUpload(market, upload.id);
    throw error;
  }
}

function answerCreated({ config, clock }: Market, upload: OpenUpload): Outgoing {
  const headers = { ...headersOf(upload, clock.now()), location: `${config.baseUrl}${UPLOAD_PATH}/${upload.id}` };
  return { status: 201, headers, body: '' };
}

async function insertNew(
  market: Market,
  { id: merchantId }: Pick<Merchant, 'id'>,
  { bytes, filename, mediaType }: UploadNames & { bytes: number },
): Promise<OpenUpload> {
  const now = new Date(market.clock.now());
  const store = storeNameOf(market);
  const id = base62(BigInt(`0x${market.random.bytes(ID_BYTES).toString('hex')}`), ID_LENGTH);
  const expiresAt = new Date(now.getTime() + UPLOAD_HOURS * HOUR_MS);
  const named = { id, merchantId, bytes, filename, mediaType, expiresAt };
  const objectId = await market.database.transaction(async (tx) => {
    await lockUploads(tx, merchantId);
    await checkStaged(market, tx, { merchantId, bytes, now });
    const created = await createObject(tx, { store, bytes, now });
    await insertUpload(tx, { ...named, objectId: created, now });
    return created;
  });
  const unused = { received: 0, sha256: null, paymentId: null, listingId: null, endedAt: null };
  return { ...named, ...unused, objectId, store, createdAt: now };
}
