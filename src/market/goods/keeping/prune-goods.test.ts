import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { holdTransactionOpen } from '../../../../test/support/listing-life.ts';
import { marketContext, type SettableClock, settableClock } from '../../../../test/support/market-context.ts';
import { createMemoryStore, type MemoryStore } from '../../../../test/support/memory-store.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { seedListing, seedMerchant, seedOpenPayment } from '../../../../test/support/seed.ts';
import { seedUpload } from '../../../../test/support/seed-upload.ts';
import { insertLoss } from '../../../platform/log-copy/store.ts';
import type { Market } from '../../context.ts';
import { createMetrics } from '../../create-metrics.ts';
import { CHUNK_BYTES, readObject } from '../chunk-store.ts';
import { createObject, deletionTime, findStored } from '../object-store.ts';
import { addChunk, findUpload, holdUpload, listUpload, releaseUpload, takeWriter } from '../uploads/store.ts';
import { createGoodsPruning, pruneGoods } from './prune-goods.ts';

const db = testDatabase();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const bytes = Buffer.alloc(CHUNK_BYTES + 1_000, 'goods ');
let clock: SettableClock;
let recorded: ReturnType<typeof recordingLog>;
let merchantId: bigint;

beforeAll(async () => {
  merchantId = (await seedMerchant(db.database)).id;
});
beforeEach(async () => {
  clock = settableClock(Date.now());
  recorded = recordingLog();
  // Deletes the rows of the tests before.
  await db.database.run(sql`delete from uploads`);
  passTime(2 * DAY_MS);
  await pruneGoods(marketWith());
  clock.set(Date.now());
  await db.database.run(sql`delete from goods_deletions`);
});

const passTime = (ms: number): void => clock.set(clock.now() + ms);
const marketWith = (objectStore: MemoryStore | null = null): Market =>
  marketContext({ database: db.database, clock, changes: { objectStore, log: recorded.log } });
const objectsLeft = async (ids: readonly bigint[]): Promise<bigint[]> => {
  const rows = await db.database.rows<{ id: bigint }>(
    sql`select id from goods_objects where id = any(${ids}::bigint[]) order by id`,
  );
  return rows.map(({ id }) => id);
};
const chunksLeft = async (id: bigint): Promise<number> =>
  Number((await db.database.one<{ n: bigint }>(sql`select count(*) as n from goods_chunks where object_id = ${id}`)).n);
const deletions = async (): Promise<Date[]> => {
  const rows = await db.database.rows<{ due_at: Date }>(sql`select due_at from goods_deletions`);
  return rows.map((row) => row.due_at);
};
const openFee = (validBefore?: bigint) =>
  seedOpenPayment(db.database, { purpose: 'listing_fee', listingId: null, merchantId, validBefore });
async function readAll(market: Market, id: bigint): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of readObject(market, id, { from: 0, to: bytes.length })) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Does the database part of listing an upload, and leaves its transaction open. */
async function beginListing(objectId: bigint): Promise<{ commit(): Promise<void> }> {
  const { id: listingId } = await seedListing(db.database, merchantId, { priceUnits: 0n });
  const stored = await findStored(db.database, objectId);
  const now = new Date(clock.now());
  return await holdTransactionOpen(db.database, async (tx) => {
    expect(await listUpload(tx, { objectId, paymentId: null, listingId, now })).toBe(true);
    await tx.run(
      sql`update artifacts set content = null, salt = ${stored?.salt}, object_id = ${objectId} where listing_id = ${listingId}`,
    );
  });
}

test('an expired upload ends, and its bytes go; an unexpired one stays, as does its row for 30 days', async () => {
  const market = marketWith();
  const expired = await seedUpload(market, merchantId, { bytes });
  passTime(HOUR_MS);
  const fresh = await seedUpload(market, merchantId, { bytes, received: 10 });
  passTime(23 * HOUR_MS);
  await pruneGoods(market);
  expect(await objectsLeft([expired.objectId, fresh.objectId])).toEqual([fresh.objectId]);
  expect(await chunksLeft(expired.objectId)).toBe(0);
  expect(await findUpload(db.database, merchantId, expired.id)).toMatchObject({ objectId: null, bytes: bytes.length });
  expect((await findUpload(db.database, merchantId, expired.id))?.endedAt).toEqual(new Date(clock.now()));
  expect(await findUpload(db.database, merchantId, fresh.id)).toMatchObject({ received: 10, endedAt: null });
  passTime(30 * DAY_MS);
  await pruneGoods(market);
  expect(await findUpload(db.database, merchantId, expired.id)).not.toBeNull();
  passTime(1);
  await pruneGoods(market);
  expect(await findUpload(db.database, merchantId, expired.id)).toBeNull();
  expect(await findUpload(db.database, merchantId, fresh.id)).toMatchObject({ objectId: null });
});

test('bytes that a fee holds never expire; once released they do', async () => {
  const market = marketWith();
  const upload = await seedUpload(market, merchantId, { bytes });
  const paymentId = await openFee();
  const now = new Date(clock.now());
  expect(await db.database.transaction((tx) => holdUpload(tx, upload.id, paymentId, now))).toBe(true);
  passTime(40 * DAY_MS);
  await pruneGoods(market);
  expect(await readAll(market, upload.objectId)).toEqual(bytes);
  const expiresAt = new Date(clock.now() + DAY_MS);
  await db.database.transaction((tx) => releaseUpload(tx, paymentId, expiresAt));
  await pruneGoods(market);
  expect(await readAll(market, upload.objectId)).toEqual(bytes);
  passTime(DAY_MS);
  await pruneGoods(market);
  expect(await objectsLeft([upload.objectId])).toEqual([]);
});

test('a fee that ended under a version that knows no uploads gives the bytes back', async () => {
  const market = marketWith();
  const upload = await seedUpload(market, merchantId, { bytes });
  const paymentId = await openFee(1n);
  await db.database.transaction((tx) => holdUpload(tx, upload.id, paymentId, new Date(clock.now())));
  passTime(2 * DAY_MS);
  await pruneGoods(market);
  expect(await findUpload(db.database, merchantId, upload.id)).toMatchObject({ paymentId });
  // It lapsed, so it is deleted, but not while the upload refers to it.
  await db.database.run(sql`
    update payments set status = 'unpaid', end_reason = 'expired', ended_at = 'epoch' where id = ${paymentId}`);
  const longAgo = sql`select prune_lapsed_attempts('1980-01-01', 10) as gone`;
  expect(await db.database.one(longAgo)).toEqual({ gone: 0 });
  await pruneGoods(market);
  expect(await db.database.one(longAgo)).toEqual({ gone: 1 });
  expect(await findUpload(db.database, merchantId, upload.id)).toMatchObject({
    ...{ paymentId: null, objectId: upload.objectId, endedAt: null },
    expiresAt: new Date(clock.now() + DAY_MS),
  });
});

test('a listing that takes an upload at the moment of its expiry keeps the bytes, and pruning does not wait for it', async () => {
  const market = marketWith();
  const upload = await seedUpload(market, merchantId, { bytes });
  const listing = await beginListing(upload.objectId);
  passTime(2 * DAY_MS);
  await pruneGoods(market);
  await listing.commit();
  await pruneGoods(market);
  expect(await findUpload(db.database, merchantId, upload.id)).toMatchObject({ objectId: null });
  expect((await findUpload(db.database, merchantId, upload.id))?.listingId).not.toBeNull();
  expect(await readAll(market, upload.objectId)).toEqual(bytes);
});

test('a fee that takes an upload at that moment keeps the bytes; one that comes later gets none', async () => {
  const market = marketWith();
  const [first, second] = [
    await seedUpload(market, merchantId, { bytes }),
    await seedUpload(market, merchantId, { bytes }),
  ];
  const [firstFee, secondFee] = [await openFee(), await openFee()];
  const now = new Date(clock.now());
  passTime(2 * DAY_MS);
  const fee = await holdTransactionOpen(db.database, async (tx) => {
    expect(await holdUpload(tx, first.id, firstFee, now)).toBe(true);
  });
  await pruneGoods(market);
  await fee.commit();
  await pruneGoods(market);
  expect(await objectsLeft([first.objectId, second.objectId])).toEqual([first.objectId]);
  expect(await db.database.transaction((tx) => holdUpload(tx, second.id, secondFee, now))).toBe(false);
});

test('a request that still writes to an upload as it expires stores nothing more', async () => {
  const market = marketWith();
  const upload = await seedUpload(market, merchantId, { bytes, received: CHUNK_BYTES });
  const writer = Buffer.alloc(16, 1);
  const now = new Date(clock.now());
  const taken = { id: upload.id, offset: CHUNK_BYTES, writer, now };
  expect(await db.database.transaction((tx) => takeWriter(tx, taken))).toBe(true);
  passTime(DAY_MS);
  await pruneGoods(market);
  const chunk = { upload, writer, start: CHUNK_BYTES, bytes: 1_000, acknowledged: true };
  const place = { content: bytes.subarray(CHUNK_BYTES) };
  expect(await db.database.transaction((tx) => addChunk(tx, { ...chunk, place }))).toBe(false);
  expect(await objectsLeft([upload.objectId])).toEqual([]);
});

test('objects of the S3 store are deleted 30 days after the last reference, in the store first', async () => {
  const objectStore = createMemoryStore();
  const market = marketWith(objectStore);
  await seedUpload(market, merchantId, { bytes });
  expect(objectStore.objects.size).toBe(2);
  expect(await deletions()).toEqual([]);
  passTime(DAY_MS);
  await pruneGoods(market);
  const due = deletionTime(new Date(clock.now()));
  expect(await deletions()).toEqual([due, due]);
  passTime(30 * DAY_MS - 1);
  await pruneGoods(market);
  expect(objectStore.objects.size).toBe(2);
  passTime(1);
  await pruneGoods(marketWith(null));
  expect(await deletions()).toHaveLength(2);
  await recorded.logged('goods_store_missing');
  await pruneGoods(market);
  expect([objectStore.objects.size, await deletions()]).toEqual([0, []]);
});

test('a store that fails to delete is asked again an hour later, and keeps no other name waiting', async () => {
  const objectStore = createMemoryStore();
  const market = marketWith(objectStore);
  const names = Array.from({ length: 205 }, (_, index) => `goods/${index.toString().padStart(3, '0')}`);
  for (const name of names) await objectStore.put(name, bytes.subarray(0, 1));
  const now = new Date(clock.now());
  await db.database.run(sql`insert into goods_deletions select unnest(${names}::text[]), ${now}::timestamptz`);
  objectStore.refuseDeletions(/5$/);
  for (let round = 0; round < 3; round += 1) await pruneGoods(market);
  const left = await deletions();
  expect([...objectStore.objects.keys()].toSorted()).toEqual(names.filter((name) => name.endsWith('5')));
  expect(new Set(left.map((due) => due.getTime()))).toEqual(new Set([clock.now() + HOUR_MS]));
  objectStore.refuseDeletions(null);
  passTime(HOUR_MS);
  await pruneGoods(market);
  expect([objectStore.objects.size, await deletions()]).toEqual([0, []]);
});

test('a name to which a chunk refers is not deleted, though it is due', async () => {
  const objectStore = createMemoryStore();
  const market = marketWith(objectStore);
  const upload = await seedUpload(market, merchantId, { bytes });
  await db.database.run(
    sql`insert into goods_deletions select s3_name, 'epoch' from goods_chunks where object_id = ${upload.objectId}`,
  );
  await pruneGoods(market);
  expect(await deletions()).toEqual([]);
  expect(await readAll(market, upload.objectId)).toEqual(bytes);
});

test('an object without any reference goes in parts after a day, and a new one stays', async () => {
  const market = marketWith();
  const create = (): Promise<bigint> => {
    const made = { store: 'postgres', bytes: 150, now: new Date(clock.now()) } as const;
    return db.database.transaction((tx) => createObject(tx, made));
  };
  const old = await create();
  await db.database.run(
    sql`insert into goods_chunks (object_id, start, bytes, s3_name)
      select ${old}::bigint, at, 1, 'goods/' || at from generate_series(0, 149) as at`,
  );
  passTime(DAY_MS);
  const fresh = await create();
  await pruneGoods(market, { withSweep: false });
  await pruneGoods(market);
  expect(await objectsLeft([old, fresh])).toEqual([old, fresh]);
  passTime(1);
  await pruneGoods(market, { withSweep: false });
  expect(await objectsLeft([old, fresh])).toEqual([old, fresh]);
  await pruneGoods(market);
  expect(await objectsLeft([old, fresh])).toEqual([fresh]);
  expect(await deletions()).toHaveLength(150);
});

test('the goods of a listing are never taken for an object without reference, and a replaced object is', async () => {
  const market = marketWith();
  const [first, second] = [
    await seedUpload(market, merchantId, { bytes }),
    await seedUpload(market, merchantId, { bytes }),
  ];
  await (await beginListing(first.objectId)).commit();
  await (await beginListing(second.objectId)).commit();
  await db.database.run(
    sql`update artifacts set object_id = null, content = 'new goods'::bytea where object_id = ${second.objectId}`,
  );
  passTime(2 * DAY_MS);
  await pruneGoods(market);
  expect(await objectsLeft([first.objectId, second.objectId])).toEqual([first.objectId]);
  expect(await readAll(market, first.objectId)).toEqual(bytes);
});

test('the leader prunes at once and counts for the metrics; another process reports nothing', async () => {
  const objectStore = createMemoryStore();
  await seedUpload(marketWith(), merchantId, { bytes });
  passTime(DAY_MS);
  await seedUpload(marketWith(objectStore), merchantId, { bytes, received: 1_000 });
  const pruning = createGoodsPruning(marketWith(objectStore));
  const metrics = createMetrics({ worker: '1', withProcess: false });
  metrics.observeGoods(pruning.facts);
  expect(pruning.facts()).toBeNull();
  expect((await metrics.text()).body).not.toContain('openaisle_goods_uploads{');
  pruning.start();
  await expect.poll(pruning.facts).not.toBeNull();
  const { body } = await metrics.text();
  expect(body).toContain(`openaisle_goods_bytes{store="s3",worker="1"} ${bytes.length}`);
  expect(body).toContain('openaisle_goods_objects{store="s3",worker="1"} 1');
  expect(body).toContain('openaisle_goods_uploads{state="open",worker="1"} 1');
  expect(body).toContain('openaisle_goods_upload_bytes{state="open",worker="1"} 1000');
  expect(body).toContain('openaisle_goods_deletions{when="now",worker="1"} 0');
  await pruning.stop();
  expect(pruning.facts()).toBeNull();
});

test('nothing is pruned while the history is lost, because another copy of the database may be restored', async () => {
  const market = marketWith();
  const upload = await seedUpload(market, merchantId, { bytes });
  passTime(2 * DAY_MS);
  const copy = { id: 10n, hash: Buffer.alloc(32, 1) };
  const host = '00000000-0000-0000-0000-000000000001';
  await insertLoss(db.database, { copy, foundId: 3n, host, now: new Date() });
  await pruneGoods(market);
  expect(await readAll(market, upload.objectId)).toEqual(bytes);
});
