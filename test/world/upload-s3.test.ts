import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CHUNK_BYTES } from '../../src/market/goods/chunk-store.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { Member } from '../support/market-world.ts';
import { openTestStore, type TestStore, testBucket } from '../support/open-test-store.ts';
import { type S3Server, sendReply, startS3Server } from '../support/s3-server.ts';
import {
  askTus,
  checksumOf,
  createUpload,
  faultsOf,
  patchUpload,
  readOffset,
  readStored,
  readUpload,
  sha256Of,
  startUploadStage,
  type UploadStage,
} from '../support/upload-stage.ts';

const BYTES = systemRandom.bytes(5 * CHUNK_BYTES + 4_321);
let server: S3Server;
let opened: TestStore;
let stage: UploadStage;
let owner: Member;

beforeAll(async () => {
  server = await startS3Server();
  opened = await openTestStore(testBucket(server.url));
  stage = await startUploadStage({ objectStore: opened.store });
  owner = await stage.join('owner');
});
afterEach(() => {
  server.fault = null;
});
afterAll(async () => {
  await stage.stop();
  await opened.close();
  await server.close();
});

const send = (path: string, offset: number) =>
  patchUpload(stage, path, { key: owner.key, offset, body: BYTES.subarray(offset) });

async function expectWhole(path: string): Promise<void> {
  const upload = await readUpload(stage, owner, path);
  expect(upload.sha256?.toString('hex')).toBe(sha256Of(BYTES));
  expect((await readStored(stage, upload)).equals(BYTES)).toBe(true);
  const chunks = await stage.db.database.rows<{ name: string | null; content: Buffer | null }>(
    sql`select s3_name as name, content from goods_chunks where object_id = ${upload.objectId}`,
  );
  expect(chunks.every(({ name, content }) => content === null && server.objects.has(name ?? ''))).toBe(true);
}

/** Names that wait to be deleted, because their requests have ended without them. */
async function countLeft(): Promise<number> {
  return (await stage.db.database.rows(sql`select s3_name from goods_deletions`)).length;
}

test('an upload goes into the store, and its chunks are rows without bytes', async () => {
  const path = await createUpload(stage, owner.key, BYTES.length);
  expect((await send(path, 0)).status).toBe(204);
  await expectWhole(path);
  expect(server.objects.size).toBe(6);
  expect(await countLeft()).toBe(0);
  expect(faultsOf(stage)).toEqual([]);
});

test('an upload over a store that fails goes on where it stood, and loses nothing', async () => {
  const path = await createUpload(stage, owner.key, BYTES.length);
  const before = server.objects.size;
  const leftBefore = await countLeft();
  server.fault = (request, answer) => {
    const isDown = request.method === 'PUT' && server.objects.size >= before + 2;
    if (isDown) sendReply(answer, { status: 500, code: 'InternalError' });
    return isDown;
  };
  const refused = await send(path, 0);
  expect([refused.status, refused.body['reason'], refused.headers.get('retry-after')]).toEqual([
    503,
    'unavailable',
    '5',
  ]);
  const offset = await readOffset(stage, owner.key, path);
  expect(offset).toBe(2 * CHUNK_BYTES);
  expect(await countLeft()).toBe(leftBefore + 1);
  server.fault = null;
  expect((await send(path, offset)).status).toBe(204);
  await expectWhole(path);
  expect(opened.logged.lines.map(({ event }) => event)).toEqual(['object_store_failed', 'object_store_recovered']);
});

test('an upload over a store that loses a part is never called whole', async () => {
  const path = await createUpload(stage, owner.key, BYTES.length);
  const half = patchUpload(stage, path, { key: owner.key, offset: 0, body: BYTES.subarray(0, 3 * CHUNK_BYTES) });
  expect((await half).status).toBe(204);
  const { objectId } = await readUpload(stage, owner, path);
  const { name } = await stage.db.database.one<{ name: string }>(
    sql`select s3_name as name from goods_chunks where object_id = ${objectId} and start = ${CHUNK_BYTES}`,
  );
  const lost = server.objects.get(name);
  server.objects.delete(name);
  // Ends the running hash of this process, so that the bytes are read again for the hash, as after a restart.
  const wrong = { 'upload-checksum': checksumOf(Buffer.from('other')) };
  const rest = { key: owner.key, offset: 3 * CHUNK_BYTES, body: BYTES.subarray(3 * CHUNK_BYTES) };
  expect((await patchUpload(stage, path, { ...rest, headers: wrong })).status).toBe(460);
  expect((await send(path, 3 * CHUNK_BYTES)).status).toBe(500);
  expect((await readUpload(stage, owner, path)).sha256).toBeNull();
  // Once the object is back, the upload completes.
  if (lost !== undefined) server.objects.set(name, lost);
  await readOffset(stage, owner.key, path);
  expect((await patchUpload(stage, path, { key: owner.key, offset: BYTES.length, body: Buffer.alloc(0) })).status).toBe(
    204,
  );
  await expectWhole(path);
  expect(faultsOf(stage).some((line) => line.includes(`the S3 store has no object ${name}`))).toBe(true);
});

test('objects of a body with a wrong checksum are to be deleted at once, those of a right one are kept', async () => {
  const path = await createUpload(stage, owner.key, BYTES.length);
  const countDue = async (): Promise<number> =>
    (await stage.db.database.rows(sql`select from goods_deletions where due_at <= now()`)).length;
  const [before, dueBefore] = [await countLeft(), await countDue()];
  const patchWith = (headers: Record<string, string>) =>
    patchUpload(stage, path, { key: owner.key, offset: 0, body: BYTES, headers });
  expect((await patchWith({ 'upload-checksum': checksumOf(Buffer.from('other')) })).status).toBe(460);
  expect([await countDue(), await countLeft()]).toEqual([dueBefore + 6, before + 6]);
  expect((await patchWith({ 'upload-checksum': checksumOf(BYTES) })).status).toBe(204);
  await expectWhole(path);
  expect(await countLeft()).toBe(before + 6);
  expect((await askTus(stage.url, 'DELETE', path, { key: owner.key })).status).toBe(204);
  expect(await countLeft()).toBe(before + 12);
});
