import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, eventsOf, holdTransactionOpen, ruleAgainst, untilWaiting } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { createMemoryStore, type MemoryStore } from '../../../test/support/memory-store.ts';
import {
  removeListing,
  type SeededMerchant,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedOpenPayment,
  seedPaidPurchase,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { seedUpload } from '../../../test/support/seed-upload.ts';
import { endpoints } from '../../contract/index.ts';
import { insertLoss } from '../../platform/log-copy/store.ts';
import type { Market } from '../context.ts';
import { CHUNK_BYTES } from '../goods/chunk-store.ts';
import { pruneGoods } from '../goods/keeping/prune-goods.ts';
import { findStored } from '../goods/object-store.ts';
import { listUpload } from '../goods/uploads/store.ts';
import { lockListingShared } from '../listings/store.ts';
import { lockPayment } from '../payments/store.ts';
import { completePurchase } from '../purchases/complete-purchase.ts';
import { deliverGoods } from '../purchases/deliver.ts';
import { decideAppeal } from './appeals.ts';
import { eraseGoods } from './erase-goods.ts';
import { insertAppeal } from './store.ts';

const db = testDatabase();
const bytes = Buffer.alloc(CHUNK_BYTES + 1_000, 'goods ');
let keeper: SeededMerchant;
let seller: SeededMerchant;
let market: Market;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  seller = await seedMerchant(db.database);
});
beforeEach(() => {
  market = marketContext({ database: db.database });
});

const erase = (listingId: bigint, options: { objectStore?: MemoryStore; despitePayments?: boolean } = {}) => {
  const { objectStore = null, despitePayments = false } = options;
  return eraseGoods({ ...market, objectStore }, { listingId, reasonCode: 'illegal', despitePayments });
};
const deliver = (id: bigint) =>
  reasonOf(deliverGoods(market, id, { purchase: null, collectedBy: 'key', taker: { merchantId: keeper.id } }));
const goodsOf = (id: bigint) =>
  db.database.one<{ state: string; bytes: number; kept: boolean; commitment: string }>(sql`
    select l.state, l.artifact_bytes as bytes, a.content is not null or a.object_id is not null as kept,
      '0x' || encode(l.artifact_commitment, 'hex') as commitment
    from listings l join artifacts a on a.listing_id = l.id where l.id = ${id}`);
const count = async (table: 'goods_objects' | 'goods_chunks' | 'goods_deletions'): Promise<number> => {
  const tables = {
    goods_objects: sql`select count(*)::int as n from goods_objects`,
    goods_chunks: sql`select count(*)::int as n from goods_chunks`,
    goods_deletions: sql`select count(*)::int as n from goods_deletions`,
  };
  return (await db.database.one<{ n: number }>(tables[table])).n;
};

/** Lists an upload as free goods and gives them to a buyer. */
async function seedTakenUpload(objectStore: MemoryStore | null): Promise<bigint> {
  const { id } = await seedListing(db.database, seller.id, { priceUnits: 0n });
  const { objectId } = await seedUpload({ ...market, objectStore }, seller.id, { bytes });
  const stored = await findStored(db.database, objectId);
  await db.database.transaction(async (tx) => {
    await listUpload(tx, { objectId, paymentId: null, listingId: id, now: new Date() });
    await tx.run(
      sql`update artifacts set content = null, salt = ${stored?.salt}, object_id = ${objectId} where listing_id = ${id}`,
    );
    await tx.run(sql`
      update listings set artifact_commitment = ${stored?.commitment}, artifact_bytes = ${bytes.length} where id = ${id}`);
  });
  await seedFreePurchase(db.database, id, keeper.id);
  return id;
}

test('erasing goods for sale removes them, says so in the log, and keeps everything but the bytes', async () => {
  const { id } = await seedListing(db.database, seller.id, { artifact: 'unlawful words' });
  const purchase = await seedPaidPurchase(db.database, id, { merchantId: keeper.id });
  const before = await goodsOf(id);
  expect(await deliver(id)).toBe('none');
  expect(await erase(id)).toEqual({
    ...{ status: 'erased', listing_id: Number(id), reason_code: 'illegal', artifact_commitment: before.commitment },
    ...{ artifact_bytes: 14, removed: true, purchases: 1, undecided_payments: [], objects_left: 0 },
  });
  expect(await goodsOf(id)).toEqual({ ...before, state: 'removed', kept: false });
  expect(await deliver(id)).toBe('goods_erased');
  const about = { listing_id: Number(id), merchant_id: Number(seller.id), reason_code: 'illegal' };
  expect(await eventsOf(db.database, id)).toEqual([
    { kind: 'moderation', actor: 'the-keeper', detail: { action: 'remove', ...about } },
    {
      ...{ kind: 'moderation', actor: 'the-keeper' },
      detail: { action: 'erase', ...about, artifact_commitment: before.commitment },
    },
  ]);
  expect(await db.database.rows(sql`select id from purchases where listing_id = ${id}`)).toEqual([{ id: purchase.id }]);
  expect(await erase(id)).toMatchObject({ status: 'erased_before', reason_code: 'illegal', removed: false });
  expect(await eventsOf(db.database, id)).toHaveLength(2);
});

test('goods are erased in every state of their listing, and the removal before stays as it was', async () => {
  for (const put of [withdrawListing, removeListing]) {
    const { id } = await seedListing(db.database, seller.id);
    await put(db.database, id);
    expect(await erase(id)).toMatchObject({ status: 'erased', removed: put === withdrawListing });
    expect(await goodsOf(id)).toMatchObject({ state: 'removed', kept: false });
    const [removal] = await db.database.rows(sql`select reason_code from removals where listing_id = ${id}`);
    expect(removal).toEqual({ reason_code: put === withdrawListing ? 'illegal' : 'policy' });
  }
  await expect(erase(999_999n)).rejects.toThrow('there is no listing 999999 with goods');
});

test('uploaded goods go from the database with their chunks', async () => {
  const id = await seedTakenUpload(null);
  const [objects, chunks] = [await count('goods_objects'), await count('goods_chunks')];
  expect(await erase(id)).toMatchObject({ purchases: 1, artifact_bytes: bytes.length });
  expect([await count('goods_objects'), await count('goods_chunks')]).toEqual([objects - 1, chunks - 2]);
  expect(await deliver(id)).toBe('goods_erased');
});

test('objects of the S3 store go at once; what it fails to delete goes with the next pruning', async () => {
  const objectStore = createMemoryStore();
  const [first, second] = [await seedTakenUpload(objectStore), await seedTakenUpload(objectStore)];
  expect(objectStore.objects.size).toBe(4);
  expect(await erase(first, { objectStore })).toMatchObject({ status: 'erased', objects_left: 0 });
  expect([objectStore.objects.size, await count('goods_deletions')]).toEqual([2, 0]);
  objectStore.refuseDeletions(/./);
  expect(await erase(second, { objectStore })).toMatchObject({ status: 'erased', objects_left: 2 });
  expect([objectStore.objects.size, await count('goods_deletions')]).toEqual([2, 2]);
  objectStore.refuseDeletions(null);
  await pruneGoods({ ...market, objectStore });
  expect([objectStore.objects.size, await count('goods_deletions')]).toEqual([0, 0]);
});

test('while a payment is undecided the command refuses and names it; with the flag no payee can deliver it any more', async () => {
  const { id } = await seedListing(db.database, seller.id);
  const paymentId = await seedOpenPayment(db.database, { purpose: 'purchase', listingId: id, merchantId: keeper.id });
  await expect(erase(id)).rejects.toThrow(`payments for these goods are undecided (${paymentId})`);
  expect(await goodsOf(id)).toMatchObject({ state: 'live', kept: true });
  expect(await erase(id, { despitePayments: true })).toMatchObject({ undecided_payments: [Number(paymentId)] });
  const deciding = db.database.transaction(async (tx) => {
    const completion = completePurchase(market);
    const payment = await lockPayment(tx, paymentId);
    if (payment === null) throw new Error('the payment is gone');
    const subject = await completion.lockSubject(tx, payment);
    await completion.completeReviewed(tx, payment, { transfer: null, payerCollectsOnly: false, subject });
  });
  expect(await reasonOf(deciding)).toBe('not_deliverable');
});

test('a payment that opens as the goods are erased is seen, or finds the listing removed', async () => {
  const { id } = await seedListing(db.database, seller.id);
  const opening = await holdTransactionOpen(db.database, (tx) => lockListingShared(tx, id));
  const erasing = erase(id);
  await untilWaiting(db.database);
  const paymentId = await seedOpenPayment(db.database, { purpose: 'purchase', listingId: id, merchantId: keeper.id });
  await opening.commit();
  await expect(erasing).rejects.toThrow(`undecided (${paymentId})`);
});

test('an appeal restores no erased goods, and may be refused', async () => {
  const { id } = await seedListing(db.database, seller.id);
  await erase(id);
  const appeal = await db.database.transaction((tx) => insertAppeal(tx, id, 'It was lawful', new Date()));
  const decide = (outcome: 'restored' | 'removal_upheld') =>
    act(market, endpoints.decideAppeal, decideAppeal, {
      body: { appeal_id: Number(appeal.id), outcome, reason: 'Looked at again' },
      caller: keeper,
    });
  expect(await reasonOf(decide('restored'))).toBe('goods_erased');
  expect((await decide('removal_upheld')).listing.state).toBe('removed');
});

test('the database itself lets an erasure take the bytes, and nothing else', async () => {
  const { id } = await seedListing(db.database, seller.id);
  const run = (statement: ReturnType<typeof sql>) => ruleAgainst(db.database.run(statement));
  const record = sql`insert into erasures (listing_id, reason_code, erased_at) values (${id}, 'illegal', now())`;
  const takeBytes = sql`update artifacts set content = null, erased = true where listing_id = ${id}`;
  expect(await run(takeBytes)).toBe('artifact_is_fixed');
  expect(await run(record)).toBe('erasures_step');
  await removeListing(db.database, id);
  await db.database.run(record);
  expect(await run(sql`update artifacts set content = 'other' where listing_id = ${id}`)).toBe('artifact_is_fixed');
  expect(await run(sql`update artifacts set content = null where listing_id = ${id}`)).toBe('artifact_is_fixed');
  expect(await run(sql`update artifacts set erased = true where listing_id = ${id}`)).toBe('artifacts_one_place');
  expect(
    await run(sql`update artifacts set content = null, erased = true, salt = sha256('x') where listing_id = ${id}`),
  ).toBe('artifact_is_fixed');
  await db.database.run(takeBytes);
  expect(await run(sql`update artifacts set content = 'back', erased = false where listing_id = ${id}`)).toBe(
    'artifact_is_fixed',
  );
  expect(await run(sql`update listings set state = 'live', removed_at = null where id = ${id}`)).toBe(
    'erased_stay_removed',
  );
  for (const statement of [
    sql`update erasures set reason_code = 'spam' where listing_id = ${id}`,
    sql`delete from erasures where listing_id = ${id}`,
    sql`truncate erasures`,
  ])
    expect(await run(statement)).toBe('erasures_step');
});

test('while the history is lost nothing is erased, because the log could not say so', async () => {
  const { id } = await seedListing(db.database, seller.id);
  const copy = { id: 10n, hash: Buffer.alloc(32, 1) };
  const host = '00000000-0000-0000-0000-000000000001';
  await insertLoss(db.database, { copy, foundId: 3n, host, now: new Date() });
  await expect(erase(id)).rejects.toThrow('recover');
  expect(await goodsOf(id)).toMatchObject({ state: 'live', kept: true });
});
