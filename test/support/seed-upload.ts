import { base62 } from '../../src/contract/base62.ts';
import { UPLOAD_HOURS } from '../../src/contract/uploads.ts';
import type { Market } from '../../src/market/context.ts';
import { CHUNK_BYTES, placeChunk, storeNameOf } from '../../src/market/goods/chunk-store.ts';
import { createDigester, createObject, fixDigest } from '../../src/market/goods/object-store.ts';
import { addChunk, insertUpload, setHash, takeWriter } from '../../src/market/goods/uploads/store.ts';

type Storing = Pick<Market, 'database' | 'clock' | 'random' | 'objectStore'>;

export interface UploadToSeed {
  bytes: Buffer;
  /** How many of the bytes have arrived. Default: all. */
  received?: number;
  /** False: all bytes have arrived, and the market died before it stored their hash. */
  hashed?: boolean;
  filename?: string | null;
  mediaType?: string | null;
}

export interface SeededUpload {
  id: string;
  objectId: bigint;
}

const ID_LENGTH = 22;

/** Stores an upload of a merchant as the upload routes do, in the market's store. */
export async function seedUpload(market: Storing, merchantId: bigint, given: UploadToSeed): Promise<SeededUpload> {
  const { bytes, received = bytes.length, hashed = true, filename = null, mediaType = null } = given;
  const { database, random, clock } = market;
  const now = new Date(clock.now());
  const store = storeNameOf(market);
  const id = base62(BigInt(`0x${random.bytes(16).toString('hex')}`), ID_LENGTH);
  const objectId = await database.transaction(async (tx) => {
    const made = await createObject(tx, { store, bytes: bytes.length, now });
    const expiresAt = new Date(clock.now() + UPLOAD_HOURS * 3_600_000);
    await insertUpload(tx, {
      ...{ id, merchantId, objectId: made, bytes: bytes.length },
      ...{ filename, mediaType, now, expiresAt },
    });
    return made;
  });
  const writer = random.bytes(16);
  await mustSucceed(database.transaction((tx) => takeWriter(tx, { id, offset: 0, writer, now })));
  for (let start = 0; start < received; start += CHUNK_BYTES) {
    const chunk = bytes.subarray(start, Math.min(start + CHUNK_BYTES, received));
    const place = await placeChunk(market, store, chunk);
    const upload = { id, objectId };
    const added = { upload, writer, start, bytes: chunk.length, place, acknowledged: true };
    await mustSucceed(database.transaction((tx) => addChunk(tx, added)));
  }
  if (hashed && received === bytes.length) {
    const digester = createDigester(market);
    digester.update(bytes);
    const digest = digester.digest();
    await database.transaction(async (tx) => {
      await setHash(tx, id, digest.sha256);
      await fixDigest(tx, objectId, digest);
    });
  }
  return { id, objectId };
}

async function mustSucceed(written: Promise<boolean>): Promise<void> {
  if (!(await written)) throw new Error('the seeded upload was not written');
}
