import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findStored } from '../../src/market/goods/object-store.ts';
import { listUpload } from '../../src/market/goods/uploads/store.ts';
import { eraseGoods } from '../../src/market/moderation/erase-goods.ts';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { marketContext } from '../support/market-context.ts';
import { joinMarket, type Member } from '../support/market-world.ts';
import { seedFreePurchase, seedListing } from '../support/seed.ts';
import { seedUpload } from '../support/seed-upload.ts';
import { bytesOf } from '../support/uploaded-goods.ts';
import { startMarketOf, type UpgradedMarket } from './market-of.ts';
import { openUpgradeStage, type UpgradeStage } from './stage.ts';
import { BEFORE_UPLOADS, openOldTree } from './trees.ts';

const bytes = Buffer.alloc(700_000, 'uploaded goods ');
let stage: UpgradeStage;
let old: Awaited<ReturnType<typeof openOldTree>>;
let market: UpgradedMarket;
let keeper: Member;
let buyer: Member;

beforeAll(async () => {
  [old, stage] = await Promise.all([openOldTree(BEFORE_UPLOADS), openUpgradeStage()]);
  await migrate(stage.db.url, MIGRATIONS);
  keeper = await joinMarket(stage.db, 'the-keeper');
  buyer = await joinMarket(stage.db, 'buyer-one');
});
afterAll(async () => {
  await market?.stop();
  await stage?.stop();
  await old?.remove();
});

/** Lists an upload as free goods, and gives them to the buyer. */
async function seedTakenUpload(): Promise<bigint> {
  const { database } = stage.db;
  const { id } = await seedListing(database, keeper.id, { priceUnits: 0n });
  const { objectId } = await seedUpload(marketContext({ database }), keeper.id, { bytes });
  const stored = await findStored(database, objectId);
  await database.transaction(async (tx) => {
    await listUpload(tx, { objectId, paymentId: null, listingId: id, now: new Date() });
    await tx.run(
      sql`update artifacts set content = null, salt = ${stored?.salt}, object_id = ${objectId} where listing_id = ${id}`,
    );
    await tx.run(sql`
      update listings set artifact_commitment = ${stored?.commitment}, artifact_bytes = ${bytes.length} where id = ${id}`);
  });
  await seedFreePurchase(database, id, buyer.id);
  return id;
}

test('a version that knows no uploads serves everything but uploaded and erased goods, and takes nothing from them', async () => {
  const { database } = stage.db;
  const [uploaded, erased] = [await seedTakenUpload(), await seedTakenUpload()];
  const { id: text } = await seedListing(database, keeper.id, { priceUnits: 0n, artifact: 'goods as text' });
  const erasing = { listingId: erased, reasonCode: 'illegal', despitePayments: false };
  await eraseGoods(marketContext({ database }), erasing);
  market = await startMarketOf(old.folder, stage.environment);
  const buy = async (id: bigint) => (await market.ask('POST', `/api/buy/${id}`, { key: buyer.key })).status;
  expect([await buy(uploaded), await buy(text)]).toEqual([500, 200]);
  expect((await market.ask('POST', `/api/buy/${erased}`, { key: buyer.key })).status).toBe(500);
  expect((await market.ask('GET', `/api/listing/${uploaded}`)).body).toMatchObject({ listing: { state: 'live' } });
  const { body } = await market.ask('GET', '/api/events?kind=moderation');
  expect((body['events'] as { detail: object }[]).map(({ detail }) => detail)).toMatchObject([
    { action: 'erase' },
    { action: 'remove' },
  ]);
  expect((await fetch(new URL('/events', market.url))).status).toBe(200);
  expect((await bytesOf({ database, objectStore: null }, uploaded)).equals(bytes)).toBe(true);
});
