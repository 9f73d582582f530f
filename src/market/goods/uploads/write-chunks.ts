import { Refusal } from '../../../platform/refusal.ts';
import type { SecretGuard } from '../../../platform/secrets.ts';
import type { Market } from '../../context.ts';
import { CHUNK_BYTES, placeChunk } from '../chunk-store.ts';
import { addChunk, type Upload } from './store.ts';

/** An upload whose bytes are here and belong to nothing else. */
export type OpenUpload = Upload & { objectId: bigint; store: 'postgres' | 's3' };

export function isOpenUpload(upload: Upload): upload is OpenUpload {
  return upload.objectId !== null && upload.store !== null;
}

export interface ChunkWriterOptions {
  market: Pick<Market, 'database' | 'clock' | 'random' | 'objectStore'>;
  guard: SecretGuard;
  upload: OpenUpload;
  writer: Buffer;
  offset: number;
  /** The bytes before the offset, as many as a secret may begin in. */
  before: Buffer;
  /** Whether each chunk counts as received at once. */
  acknowledged: boolean;
  /** Called with each chunk, in order, before it is stored. */
  onChunk(bytes: Buffer): void;
}

export interface ChunkWriter {
  /** Takes the next bytes. Waits while the chunk before is being stored. Throws if a chunk could not be stored. */
  write(piece: Uint8Array): Promise<void>;
  /** Stores the rest. Returns the offset after the last byte stored. */
  end(): Promise<number>;
  /** Resolves once nothing is being stored. */
  idle(): Promise<void>;
}

export function takenOver(): Refusal {
  return new Refusal('upload_offset', { detail: 'Another request continues this upload, or it was deleted.' });
}

/**
 * Cuts bytes into chunks and stores them in order, one at a time, while the next one fills. So a request needs the memory of two chunks,
 * whatever its size.
 */
export function createChunkWriter(options: ChunkWriterOptions): ChunkWriter {
  const { market, upload, writer, acknowledged, onChunk } = options;
  const size = Math.min(CHUNK_BYTES, upload.bytes - options.offset);
  const scan = createSecretScan(options.guard, options.before);
  let filling: Buffer = Buffer.allocUnsafeSlow(size);
  let spare: Buffer | null = null;
  let filled = 0;
  let at = options.offset;
  let storing: Promise<void> = Promise.resolve();
  let failure: { error: unknown } | null = null;

  const storeChunk = async (content: Buffer, start: number): Promise<void> => {
    const place = await placeChunk(market, upload.store, content);
    const chunk = { upload, writer, start, bytes: content.length, place, acknowledged };
    if (!(await market.database.transaction((tx) => addChunk(tx, chunk)))) throw takenOver();
  };
  const flushChunk = async (): Promise<void> => {
    const content = filling.subarray(0, filled);
    if (scan(content)) throw new Refusal('secret_in_payload');
    onChunk(content);
    await storing;
    if (failure !== null) throw failure.error;
    // Settled here, because nobody may be waiting when it fails.
    storing = storeChunk(content, at).catch((error: unknown) => {
      failure = { error };
    });
    at += filled;
    filled = 0;
    [filling, spare] = [spare ?? Buffer.allocUnsafeSlow(size), filling];
  };
  return {
    write: async (piece) => {
      if (at + filled + piece.length > upload.bytes) {
        throw new Refusal('upload_refused', { detail: 'The body has more bytes than the upload is missing.' });
      }
      for (let from = 0; from < piece.length; ) {
        const part = piece.subarray(from, from + size - filled);
        filling.set(part, filled);
        filled += part.length;
        from += part.length;
        if (filled === size) await flushChunk();
      }
    },
    end: async () => {
      if (filled > 0) await flushChunk();
      await storing;
      if (failure !== null) throw failure.error;
      return at;
    },
    idle: () => storing,
  };
}

/** Creates the search for secrets in consecutive chunks, which also finds one that lies across two. */
function createSecretScan(guard: SecretGuard, before: Buffer): (chunk: Buffer) => boolean {
  const overlap = guard.longest - 1;
  let tail = before;
  return (chunk) => {
    const seam = Buffer.concat([tail, chunk.subarray(0, overlap)]);
    const found = guard.inBytes(seam) || guard.inBytes(chunk);
    tail = Buffer.from(chunk.length >= overlap ? chunk.subarray(-overlap) : seam.subarray(-overlap));
    return found;
  };
}
