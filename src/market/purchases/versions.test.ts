import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { ask } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import {
  removeListing,
  SEED_TIME,
  type SeededMerchant,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { type NewVersion, seedVersion } from '../../../test/world/version-stage.ts';
import { endpoints } from '../../contract/index.ts';
import { toHex } from '../../platform/hex.ts';
import { listPurchases } from '../history/purchase-history.ts';
import { isEarlierBuyer } from './store.ts';

const db = testDatabase();
let seller: SeededMerchant;
let buyer: SeededMerchant;

beforeAll(async () => {
  seller = await seedMerchant(db.database);
  buyer = await seedMerchant(db.database);
});

/** Seeded rows are created within seconds of SEED_TIME. */
const afterSeconds = (seconds: number): Date => new Date(SEED_TIME.getTime() + seconds * 1000);
const AFTER = afterSeconds(3_600);

const version = (supersedes: bigint, given: Partial<NewVersion> = {}): Promise<bigint> =>
  seedVersion(db.database, { supersedes, createdAt: AFTER, ...given });

const isEntitled = (listingId: bigint, merchantId = buyer.id): Promise<boolean> =>
  isEarlierBuyer(db.database, listingId, { merchantId, payer: null });

const newerVersions = async (caller: SeededMerchant) => {
  const { purchases } = await ask(marketContext({ database: db.database }), endpoints.listPurchases, listPurchases, {
    caller,
  });
  return purchases.map(({ newer_version }) => newer_version);
};

/** Seeds a purchase by a claim, whose transfer was made at `paidAt` and claimed at `claimedAt`. */
async function seedClaimed(listingId: bigint, times: { paidAt: Date; claimedAt: Date }): Promise<void> {
  await db.database.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into payments (purpose, path, status, listing_id, merchant_id, chain_id, asset, payee, payer, value_units, intent_id,
        window_from, window_to, tx_hash, block_number, block_time, created_at, settling_at, ended_at, updated_at)
      select 'purchase', 'direct', 'completed', id, ${buyer.id}, 8453, seller_wallet, seller_wallet, ${randomBytes(20)}, price_units,
        ${randomBytes(16)}, ${times.paidAt}, ${times.claimedAt}, ${randomBytes(32)}, 7, ${times.paidAt}, ${times.claimedAt},
        ${times.claimedAt}, ${times.claimedAt}, ${times.claimedAt}
      from listings where id = ${listingId} returning id`);
    await tx.run(sql`
      insert into purchases (listing_id, merchant_id, payer, payment_id, price_units, paid_units, tx_hash, block_number, verified_via,
        created_at)
      select listing_id, merchant_id, payer, id, value_units, value_units, tx_hash, block_number, 'direct', ended_at
      from payments where id = ${id}`);
  });
}

it('a payment counts from when it was opened, by the millisecond', async () => {
  for (const [ms, entitled] of [
    [0, false],
    [1, true],
  ] as const) {
    const old = await seedListing(db.database, seller.id);
    await seedPaidPurchase(db.database, old.id, { merchantId: buyer.id });
    const { opened } = await db.database.one<{ opened: Date }>(
      sql`select created_at as opened from payments where listing_id = ${old.id}`,
    );
    const createdAt = new Date(opened.getTime() + ms);
    expect(await isEntitled(await version(old.id, { createdAt }))).toBe(entitled);
  }
});

it('a transfer that was claimed later counts from its block, whose time is in whole seconds', async () => {
  const cases = [
    { paidAt: afterSeconds(10), madeAt: afterSeconds(11), entitled: true },
    { paidAt: afterSeconds(10), madeAt: afterSeconds(10.999), entitled: false },
    { paidAt: afterSeconds(12), madeAt: afterSeconds(11), entitled: false },
  ];
  for (const { paidAt, madeAt, entitled } of cases) {
    const { id } = await seedListing(db.database, seller.id);
    await seedClaimed(id, { paidAt, claimedAt: afterSeconds(500) });
    expect(await isEntitled(await version(id, { createdAt: madeAt }))).toBe(entitled);
  }
});

it('a line of 200 versions entitles the buyers of the first, and one link that does not ends it for them', async () => {
  const first = await seedListing(db.database, seller.id);
  await seedPaidPurchase(db.database, first.id, { merchantId: buyer.id });
  let last = first.id;
  for (let n = 0; n < 200; n += 1) last = await version(last);
  expect(await isEntitled(last)).toBe(true);
  expect(await isEntitled(last, seller.id)).toBe(false);
  const plain = await version(last, { entitles: false });
  expect(await isEntitled(plain)).toBe(false);
  expect(await isEntitled(await version(plain))).toBe(false);
});

it('a payer is who paid, with or without a key; where only it may collect, the key is none', async () => {
  const old = await seedListing(db.database, seller.id);
  const payer = toHex(randomBytes(20));
  await seedPaidPurchase(db.database, old.id, { merchantId: buyer.id, payer, payerCollectsOnly: true });
  const next = await version(old.id);
  expect(await isEntitled(next)).toBe(false);
  expect(await isEarlierBuyer(db.database, next, { merchantId: null, payer })).toBe(true);
  expect(await isEarlierBuyer(db.database, next, { merchantId: seller.id, payer })).toBe(true);
  const other = toHex(randomBytes(20));
  expect(await isEarlierBuyer(db.database, next, { merchantId: null, payer: other })).toBe(false);
  expect(await isEarlierBuyer(db.database, next, { merchantId: null, payer: null })).toBe(false);
});

it('each field in which the newer version differs is named, and the salt of the same goods is none', async () => {
  const changes: Record<string, Partial<NewVersion>> = {
    title: { title: 'Another title' },
    description: { description: 'Another description' },
    preview: { preview: 'Another preview' },
    tags: { tags: ['another'] },
    aisle: { aisle: 'tools' },
    price_usdc: { priceUnits: 1n },
    seller_wallet: { wallet: toHex(randomBytes(20)) },
    artifact: { artifact: 'Another artifact' },
  };
  const all = Object.assign({}, ...Object.values(changes)) as Partial<NewVersion>;
  const cases: [Partial<NewVersion>, string[]][] = [
    [{}, []],
    [{ mediaType: 'text/markdown' }, ['artifact']],
    [all, Object.keys(changes)],
    ...Object.entries(changes).map(([name, given]): [Partial<NewVersion>, string[]] => [given, [name]]),
  ];
  for (const [given, changed] of cases) {
    const merchant = await seedMerchant(db.database);
    const old = await seedListing(db.database, seller.id, { artifact: 'the goods' });
    await seedPaidPurchase(db.database, old.id, { merchantId: merchant.id });
    const id = await version(old.id, given);
    expect(await newerVersions(merchant)).toEqual([
      expect.objectContaining({ listing_id: Number(id), changed, entitled: true }),
    ]);
  }
});

it('the newest live version is named, past those that are not, and none where none is', async () => {
  const merchant = await seedMerchant(db.database);
  const old = await seedListing(db.database, seller.id);
  await seedPaidPurchase(db.database, old.id, { merchantId: merchant.id });
  expect(await newerVersions(merchant)).toEqual([null]);
  const second = await version(old.id, { entitles: false });
  const third = await version(second);
  const fourth = await version(third);
  const seen = async () => (await newerVersions(merchant)).map((newer) => newer && [newer.listing_id, newer.entitled]);
  expect(await seen()).toEqual([[Number(fourth), false]]);
  await removeListing(db.database, fourth);
  expect(await seen()).toEqual([[Number(third), false]]);
  await withdrawListing(db.database, second);
  await withdrawListing(db.database, third);
  expect(await seen()).toEqual([null]);
});

it('two purchases on one page each have their own, also when both are of one line', async () => {
  const merchant = await seedMerchant(db.database);
  const old = await seedListing(db.database, seller.id);
  await seedPaidPurchase(db.database, old.id, { merchantId: merchant.id });
  const second = await version(old.id);
  const third = await version(second, { entitles: false });
  await seedPaidPurchase(db.database, second, { merchantId: merchant.id });
  expect(await newerVersions(merchant)).toMatchObject([
    { listing_id: Number(third), entitled: false },
    { listing_id: Number(third), entitled: false },
  ]);
});
