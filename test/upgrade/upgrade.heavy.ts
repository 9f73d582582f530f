import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { migrate, migrationsComplete, pendingMigrations } from '../../src/platform/database/migrate.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { audit } from '../audit/audit.ts';
import { joinMarket, type Member } from '../support/market-world.ts';
import { startMarketOf, tradeOf, type UpgradedMarket } from './market-of.ts';
import { EVENTS, fillTables, LISTINGS, OPEN_PROOFS, openUpgradeStage, type UpgradeStage } from './stage.ts';
import { OLD_COMMIT, openOldTree } from './trees.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { sellerOne } = WORLD_ACCOUNTS;

let stage: UpgradeStage;
let tree: Awaited<ReturnType<typeof openOldTree>>;
let old: UpgradedMarket;
let keeper: Member;
let seller: Member;
let buyer: Member;

beforeAll(async () => {
  [tree, stage] = await Promise.all([openOldTree(OLD_COMMIT), openUpgradeStage()]);
  const { db, environment } = stage;
  await migrate(db.url, join(tree.folder, 'migrations/market'));
  keeper = await joinMarket(db, 'the-keeper');
  [seller, buyer] = [await joinMarket(db, 'seller-one'), await joinMarket(db, 'buyer-one')];
  await fillTables(db.database, Buffer.from(toBytes(sellerOne.address)));
  old = await startMarketOf(tree.folder, environment);
});

afterAll(async () => {
  await old?.stop();
  await stage?.stop();
  await tree?.remove();
});

const statuses = async (): Promise<Record<string, number>> => {
  const rows = await stage.db.database.rows<{ name: string; n: bigint }>(
    sql`select path || ' ' || purpose || ' ' || status as name, count(*) as n from payments group by 1`,
  );
  return Object.fromEntries(rows.map(({ name, n }) => [name, Number(n)]));
};

async function expectCleanAudit(): Promise<void> {
  const found = await audit({ databaseUrl: stage.db.url, rpcUrl: stage.chain.url, token: USDC_ADDRESS, quiet: false });
  expect(found.faults).toEqual([]);
}

const priceOf = (listingId: number): bigint => 1_000_000n + BigInt(listingId);

test('the market of before fills its tables: payments in every state', async () => {
  const trade = tradeOf(old, stage.chain);
  for (let id = 101; id <= 112; id += 1) await trade.beginPurchase(buyer, id, priceOf(id));
  await trade.finalize();
  for (let id = 101; id <= 112; id += 1) await trade.collect(buyer, id);
  for (let n = 0; n < 3; n += 1) expect((await trade.listPaid(seller)).status).toBe(200);
  for (const id of [201, 202, 203]) expect((await trade.buyDirectly(buyer, id, priceOf(id))).status).toBe(200);
  expect((await trade.buyDirectly(buyer, 301, priceOf(301) - 1n)).status).toBe(422);
  const refunded = await trade.buyDirectly(buyer, 302, priceOf(302) - 1n);
  const { payer } = await stage.db.database.one<{ payer: string }>(
    sql`select '0x' || encode(payer, 'hex') as payer from payments where listing_id = 302`,
  );
  expect((await trade.refund(keeper, refunded, payer, priceOf(302))).status).toBe(200);
  for (const id of [401, 402]) expect((await trade.beginPurchase(buyer, id, priceOf(id))).status).toBe(202);
  await expect.poll(statuses, { timeout: 60_000 }).toEqual({
    'x402 purchase completed': 12,
    'x402 purchase settling': 2,
    'x402 purchase verifying': OPEN_PROOFS,
    'x402 purchase unpaid': OPEN_PROOFS,
    'x402 listing_fee completed': 3,
    'direct purchase completed': 3,
    'direct purchase needs_review': 1,
    'direct purchase rejected': 1,
  });
  const counts = await stage.db.database.one<{ listings: bigint; events: bigint }>(
    sql`select (select count(*) from listings) as listings, (select count(*) from events) as events`,
  );
  expect([counts.listings, counts.events]).toEqual([BigInt(LISTINGS + 3), expect.toSatisfy((n) => n >= EVENTS)]);
  await expectCleanAudit();
});

test('the migrations since then let it go on, and it does, on their tables', async () => {
  const pending = await pendingMigrations(stage.db.database, MIGRATIONS);
  const applied = await migrate(stage.db.url, MIGRATIONS);
  expect(applied).toEqual(pending.map(({ name }) => name));

  const trade = tradeOf(old, stage.chain);
  await trade.beginPurchase(buyer, 501, priceOf(501));
  await trade.collect(buyer, 501);
  expect((await trade.buyDirectly(buyer, 502, priceOf(502))).status).toBe(200);
  expect((await trade.buyDirectly(buyer, 503, priceOf(503) - 1n)).status).toBe(422);
  expect((await trade.listFree(keeper)).status).toBe(201);
  expect((await trade.listPaid(seller)).status).toBe(200);
  expect((await trade.beginPurchase(buyer, 504, priceOf(504))).status).toBe(202);
  await expectCleanAudit();
});

test('this version goes on where it stopped: with its open payments, its goods and its log', async () => {
  await old.stop();
  const market = await startMarketOf(ROOT, stage.environment);
  try {
    expect(await migrationsComplete(stage.db.database, MIGRATIONS)).toBe(true);
    const trade = tradeOf(market, stage.chain);
    for (const id of [401, 402, 504]) {
      const { body } = await trade.collect(buyer, id);
      expect(body['artifact']).toBe(`old goods ${id}`);
    }
    expect((await trade.collect(buyer, 101)).body['artifact']).toBe('old goods 101');
    await trade.beginPurchase(buyer, 601, priceOf(601));
    await trade.collect(buyer, 601);
    expect((await trade.buyDirectly(buyer, 602, priceOf(602))).status).toBe(200);
    expect((await trade.listFree(keeper)).status).toBe(201);
    expect((await trade.listPaid(seller)).status).toBe(200);
    expect((await trade.ask('GET', '/readyz')).status).toBe(200);
    await expectCleanAudit();
  } finally {
    await market.stop();
  }
});
