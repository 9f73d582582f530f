import { createHash, timingSafeEqual } from 'node:crypto';
import { INLINE_ARTIFACT_BYTES } from '../../../contract/vocabulary.ts';
import { guardBody } from '../../../platform/http/guard-request.ts';
import type { Pieces } from '../../../platform/http/message.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { SecretGuard } from '../../../platform/secrets.ts';
import type { Market } from '../../context.ts';
import { deleteChunks, readObject } from '../chunk-store.ts';
import { createDigester, deleteObject } from '../object-store.ts';
import { ensureComplete, storeDigest } from './complete-upload.ts';
import type { RunningDigests } from './running-digests.ts';
import { endUpload, raiseReceived, takeWriter } from './store.ts';
import { type ChunkWriter, createChunkWriter, type OpenUpload, takenOver } from './write-chunks.ts';

const WRITER_BYTES = 16;

export interface Receiving {
  market: Pick<Market, 'database' | 'clock' | 'random' | 'objectStore'>;
  guard: SecretGuard;
  digests: RunningDigests;
  upload: OpenUpload;
  body: Pieces;
  /** SHA-256 of the body. Null: each chunk counts as soon as it is stored. */
  checksum: Buffer | null;
  /** Called with the bytes of each chunk before it is stored. */
  onChunk(bytes: number): void;
}

export interface Received {
  /** The upload as it is afterwards. */
  upload: OpenUpload;
  /** Whether the client was gone before the end of the body. */
  isCut: boolean;
}

/**
 * Appends a body to an upload, and hashes the upload once it has all bytes. Stores what has arrived if the client disconnects.
 */
export async function receiveBytes(receiving: Receiving): Promise<Received> {
  const { market, guard, digests, upload, checksum } = receiving;
  const offset = upload.received;
  const writer = market.random.bytes(WRITER_BYTES);
  await becomeWriter(receiving, writer);
  const digester = offset === 0 ? createDigester(market) : digests.take(upload.id, offset);
  const hash = checksum === null ? null : createHash('sha256');
  const chunks = createChunkWriter({
    ...{ market, guard, upload, writer, offset, acknowledged: checksum === null },
    before: await readBefore(receiving),
    onChunk: (bytes) => {
      // Small goods are judged like those that come as a string, which finds a secret in base64 too.
      if (bytes.length === upload.bytes && bytes.length <= INLINE_ARTIFACT_BYTES) guardBody(guard, bytes, undefined);
      digester?.update(bytes);
      hash?.update(bytes);
      receiving.onChunk(bytes.length);
    },
  });
  try {
    const isCut = await writeUntilCut(chunks, receiving.body);
    const received =
      hash === null
        ? await chunks.end()
        : await acknowledgeBody(receiving, { chunks, writer, sha256: isCut ? null : () => hash.digest() });
    const now = { ...upload, received };
    if (received < upload.bytes) {
      // The chunks of a body with a checksum that broke off are digested, but not kept.
      if (digester !== null && (hash === null || !isCut)) digests.keep(upload.id, received, digester);
      return { upload: now, isCut };
    }
    const { sha256 } = await (digester === null
      ? ensureComplete(market, now)
      : storeDigest(market, now, digester.digest()));
    return { upload: { ...now, sha256 }, isCut };
  } catch (error) {
    await chunks.idle();
    if (error instanceof Refusal && error.reason === 'secret_in_payload') await deleteUpload(market, upload.id);
    throw error;
  }
}

/** Makes this request the only one that appends, and deletes bytes that an earlier one left without acknowledging them. */
async function becomeWriter({ market, upload }: Receiving, writer: Buffer): Promise<void> {
  const now = new Date(market.clock.now());
  await market.database.transaction(async (tx) => {
    if (!(await takeWriter(tx, { id: upload.id, offset: upload.received, writer, now }))) throw takenOver();
    await deleteChunks(tx, upload.objectId, upload.received, now);
  });
}

/** Reads the stored bytes in which a secret may begin that goes on in the body. */
async function readBefore({ market, guard, upload }: Receiving): Promise<Buffer> {
  const to = upload.received;
  const pieces: Buffer[] = [];
  if (to > 0) {
    const range = { from: Math.max(0, to - guard.longest + 1), to };
    for await (const piece of readObject(market, upload.objectId, range)) pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Writes a body. Returns true if its client was gone before its end. */
async function writeUntilCut(chunks: ChunkWriter, body: Pieces): Promise<boolean> {
  let isCut = false;
  const arriving = untilCut(body, () => {
    isCut = true;
  });
  for await (const piece of arriving) await chunks.write(piece);
  return isCut;
}

async function* untilCut(body: Pieces, onCut: () => void): Pieces {
  try {
    yield* body;
  } catch {
    onCut();
  }
}

/** Body whose chunks are stored and not acknowledged. `sha256` is null if the body broke off, so that it cannot be checked. */
interface StagedBody {
  chunks: ChunkWriter;
  writer: Buffer;
  sha256: (() => Buffer) | null;
}

/** Acknowledges all chunks of a body at once if its checksum is right, else deletes them. Returns the upload's offset. */
async function acknowledgeBody({ market, upload, checksum }: Receiving, body: StagedBody): Promise<number> {
  const end = body.sha256 === null ? null : await body.chunks.end();
  await body.chunks.idle();
  const isRight = body.sha256 !== null && checksum !== null && timingSafeEqual(body.sha256(), checksum);
  const received = isRight && end !== null ? end : upload.received;
  const isWriter = await market.database.transaction(async (tx) => {
    // Also locks the row, so that no later writer has stored anything yet.
    if (!(await raiseReceived(tx, upload.id, body.writer, received))) return false;
    if (!isRight) await deleteChunks(tx, upload.objectId, received, new Date(market.clock.now()));
    return true;
  });
  if (!isWriter) throw takenOver();
  if (!isRight && body.sha256 !== null) throw new Refusal('checksum_mismatch');
  return received;
}

/** Ends an upload and deletes its bytes. Returns false if a fee or a listing has them, or it has ended before. */
export async function deleteUpload(market: Pick<Market, 'database' | 'clock'>, id: string): Promise<boolean> {
  const now = new Date(market.clock.now());
  return await market.database.transaction(async (tx) => {
    const objectId = await endUpload(tx, id, now);
    if (objectId !== null) await deleteObject(tx, objectId, now);
    return objectId !== null;
  });
}
