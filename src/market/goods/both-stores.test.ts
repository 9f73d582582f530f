import { createHash } from 'node:crypto';
import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import { openTestStore, type TestStore, testBucket } from '../../../test/support/open-test-store.ts';
import { type S3Server, sendReply, startS3Server } from '../../../test/support/s3-server.ts';
import { systemRandom } from '../../platform/random.ts';
import { Refusal } from '../../platform/refusal.ts';
import { CHUNK_BYTES, claimPlace, placeChunk, readObject, storeNameOf } from './chunk-store.ts';
import { createObject, deleteObject, digestObject } from './object-store.ts';

const BYTES = systemRandom.bytes(2 * CHUNK_BYTES + 12_345);
const WHOLE = { from: 0, to: BYTES.length };
const db = testDatabase();
let server: S3Server;
let opened: TestStore;
let withStore: TestMarket;
let withoutStore: TestMarket;

beforeAll(async () => {
  server = await startS3Server();
  opened = await openTestStore(testBucket(server.url));
  withStore = marketContext({ database: db.database, changes: { objectStore: opened.store } });
  withoutStore = marketContext({ database: db.database });
});
afterEach(() => {
  server.fault = null;
});
afterAll(async () => {
  await opened.close();
  await server.close();
});

/** Stores the bytes where this market keeps new goods. */
async function upload(market: TestMarket): Promise<bigint> {
  const store = storeNameOf(market);
  const now = new Date(market.clock.now());
  const object = { store, bytes: BYTES.length, now };
  const objectId = await market.database.transaction((tx) => createObject(tx, object));
  for (let start = 0; start < BYTES.length; start += CHUNK_BYTES) {
    const bytes = BYTES.subarray(start, start + CHUNK_BYTES);
    const place = await placeChunk(market, store, bytes);
    const [content, name] = 'content' in place ? [place.content, null] : [null, place.s3Name];
    await market.database.transaction(async (tx) => {
      await tx.run(sql`insert into goods_chunks (object_id, start, bytes, content, s3_name)
        values (${objectId}, ${start}, ${bytes.length}, ${content}, ${name})`);
      const claim = claimPlace(place);
      if (claim !== null) await tx.run(claim);
    });
  }
  return objectId;
}

async function read(market: TestMarket, objectId: bigint, range = WHOLE): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of readObject(market, objectId, range)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function namesOf(objectId: bigint): Promise<string[]> {
  const rows = await db.database.rows<{ name: string }>(
    sql`select s3_name as name from goods_chunks where object_id = ${objectId} order by start`,
  );
  return rows.map(({ name }) => name);
}

test('goods of both stores are read from one database, whole and in ranges over the seams', async () => {
  const inside = await upload(withoutStore);
  const outside = await upload(withStore);
  expect(server.objects.size).toBe(3);
  const seams = [CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, BYTES.length - 1];
  for (const objectId of [inside, outside]) {
    expect((await read(withStore, objectId)).equals(BYTES)).toBe(true);
    for (const from of seams) {
      const to = Math.min(BYTES.length, from + CHUNK_BYTES);
      expect((await read(withStore, objectId, { from, to })).equals(BYTES.subarray(from, to))).toBe(true);
    }
    const { sha256 } = await digestObject(withStore, objectId, BYTES.length);
    expect(sha256).toEqual(createHash('sha256').update(BYTES).digest());
  }
  // A market that lost its setting still sells what is in the database.
  expect((await read(withoutStore, inside)).equals(BYTES)).toBe(true);
  await expect(read(withoutStore, outside)).rejects.toThrow(/not connected to the store/);
  expect(await db.database.rows(sql`select 1 from goods_deletions`)).toEqual([]);
});

test('an object that the store lost, or that another took the place of, is never read as whole', async () => {
  const objectId = await upload(withStore);
  const [first = '', second = '', third = ''] = await namesOf(objectId);
  const [one, two] = [server.objects.get(first), server.objects.get(second)];
  if (one === undefined || two === undefined) throw new Error('the objects are not in the store');
  server.objects.set(first, { ...one, bytes: two.bytes });
  await expect(read(withStore, objectId)).rejects.toThrow(/its bytes have changed/);
  server.objects.set(first, { ...one, bytes: one.bytes.subarray(1) });
  await expect(read(withStore, objectId)).rejects.toThrow(/another range/);
  server.objects.set(first, one);
  server.objects.delete(third);
  await expect(read(withStore, objectId)).rejects.toThrow(/has no object goods/);
  // The rest can still be read.
  const range = { from: 5, to: 2 * CHUNK_BYTES };
  expect((await read(withStore, objectId, range)).equals(BYTES.subarray(range.from, range.to))).toBe(true);
});

test('a write that the store refuses leaves a name to delete, and no chunk', async () => {
  server.fault = (_request, answer) => {
    sendReply(answer, { status: 403, code: 'AccessDenied' });
    return true;
  };
  const before = server.objects.size;
  await expect(placeChunk(withStore, 's3', BYTES.subarray(0, 10))).rejects.toBeInstanceOf(Refusal);
  const left = await db.database.rows<{ name: string }>(sql`delete from goods_deletions returning s3_name as name`);
  expect(left).toHaveLength(1);
  server.fault = null;
  await opened.store.delete(left[0]?.name ?? '');
  expect(server.objects.size).toBe(before);
});

test('deleted goods stay in the store for 30 days', async () => {
  const objectId = await upload(withStore);
  const names = await namesOf(objectId);
  const now = new Date();
  await db.database.transaction((tx) => deleteObject(tx, objectId, now));
  const due = await db.database.rows<{ name: string; at: Date }>(
    sql`select s3_name as name, due_at as at from goods_deletions`,
  );
  expect(due.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  expect(due.map(({ at }) => at.getTime() - now.getTime())).toEqual(names.map(() => 30 * 86_400_000));
  expect(names.every((name) => server.objects.has(name))).toBe(true);
});
