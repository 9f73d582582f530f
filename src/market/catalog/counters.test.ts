import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import sql, { raw } from 'sql-template-tag';
import { expect, onTestFinished, test, vi } from 'vitest';
import { COUNTER_RULES, VOTE_RULES } from '../../../test/audit/rules-of-books.ts';
import { createTestDatabase, testDatabase } from '../../../test/support/database.ts';
import { holdTransactionOpen } from '../../../test/support/listing-life.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { onServer } from '../../../test/support/run-postgres.ts';
import {
  moveListing,
  seedFee,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  seedVote,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/database/database.ts';
import { migrate } from '../../platform/database/migrate.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import { type Hex, toHex } from '../../platform/hex.ts';
import { systemRandom } from '../../platform/random.ts';
import { createSequencer } from '../events/sequencer.ts';
import { readListing } from './store.ts';

const db = testDatabase();
const WHOLE = fileURLToPath(new URL('../../../migrations/market', import.meta.url));

/** Returns the faults that the audit finds in the counters. Empty if they match the rows. */
async function findFaults(database: Database): Promise<string[]> {
  const found: string[] = [];
  for (const [name, query] of [...COUNTER_RULES, ...VOTE_RULES])
    if ((await database.rows(raw(query))).length > 0) found.push(name);
  return found;
}

interface Stage {
  database: Database;
  merchants: bigint[];
  listings: bigint[];
  wallets: Hex[];
}

async function openStage(database: Database): Promise<Stage> {
  const merchants: bigint[] = [];
  for (let n = 0; n < 3; n += 1) merchants.push((await seedMerchant(database)).id);
  const wallets = Array.from({ length: 4 }, () => toHex(systemRandom.bytes(20)));
  const [seller = 0n] = merchants;
  const { id } = await seedListing(database, seller, {});
  const { id: free } = await seedListing(database, seller, { priceUnits: 0n });
  return { database, merchants, listings: [id, free], wallets };
}

const of = <T>(list: readonly T[], at: number): T => list[at % list.length] as T;
let comments = 0n;

/** Acts on the market. Those that the database forbids, such as a second purchase by one wallet, change nothing. */
const ACTS: Record<string, (stage: Stage, a: number, b: number) => Promise<unknown>> = {
  list: async ({ database, merchants, listings, wallets }, a, b) => {
    const given = { wallet: of(wallets, b), priceUnits: a % 3 === 0 ? 0n : 2_500_000n };
    listings.push((await seedListing(database, of(merchants, a), given)).id);
  },
  buy: ({ database, listings, wallets }, a, b) =>
    seedPaidPurchase(database, of(listings, a), { payer: of(wallets, b) }),
  buyAsMerchant: ({ database, listings, merchants }, a, b) =>
    seedPaidPurchase(database, of(listings, a), { merchantId: of(merchants, b) }),
  take: ({ database, listings, merchants }, a, b) => seedFreePurchase(database, of(listings, a), of(merchants, b)),
  vote: ({ database, listings, merchants }, a, b) => seedVote(database, of(listings, a), of(merchants, b)),
  comment: ({ database, listings, merchants }, a, b) =>
    database.transaction(async (tx) => {
      await tx.lock('comments');
      comments += 1n;
      const listing = of(listings, a);
      await tx.run(sql`
        insert into comments (id, listing_id, merchant_id, parent_id, body, created_at)
        values (${comments}, ${listing}, ${of(merchants, b)},
          (select max(id) from comments where listing_id = ${listing} and parent_id is null and ${b % 2 === 0}), 'a remark', now())`);
    }),
  move: ({ database, listings }, a, b) => moveListing(database, of(listings, a), of(['data', 'tools', 'other'], b)),
  withdraw: ({ database, listings }, a) => withdrawListing(database, of(listings, a)),
  fee: ({ database, merchants }, a) => seedFee(database, of(merchants, a)),
  tell: ({ database, listings }, a) =>
    database.run(sql`
      insert into events (kind, at, canonical, in_door, in_window, listing_id)
      values ('vote', now(), '{}', true, true, ${of(listings, a)})`),
};

test('whatever is written, by several at once, counters say what the rows say', async () => {
  const act = fc.record({ name: fc.constantFrom(...Object.keys(ACTS)), a: fc.nat(20), b: fc.nat(20) });
  const run = await fc.check(
    fc.asyncProperty(fc.array(fc.array(act, { maxLength: 5 }), { minLength: 8, maxLength: 20 }), async (turns) => {
      const stage = await openStage(db.database);
      for (const together of turns) {
        await Promise.all(together.map(({ name, a, b }) => ACTS[name]?.(stage, a, b).catch(refused)));
      }
      await createSequencer({ database: db.database, clock: systemClock, log: recordingLog().log }).whenNumbered();
      expect(await findFaults(db.database)).toEqual([]);
    }),
    { numRuns: 12 },
  );
  expect(run.failed ? fc.defaultReportMessage(run) : 'counters and rows agree').toBe('counters and rows agree');
});

/** Accepts only a refusal by the database. A deadlock, for instance, is a fault of the counters. */
function refused(error: unknown): void {
  const { code } = error as { code?: string };
  if (code === undefined || !code.startsWith('23')) throw error;
}

test.each(['the sale', 'the listing'])(
  'where %s is first, the sale to a wallet of the seller is not verified',
  async (first) => {
    const { database } = db;
    const { id: seller } = await seedMerchant(database);
    const { id: sold } = await seedListing(database, seller);
    const wallet = toHex(systemRandom.bytes(20));
    const acts = {
      'the sale': () => seedPaidPurchase(database, sold, { payer: wallet }),
      'the listing': () => seedListing(database, seller, { wallet }),
    };
    const second = first === 'the sale' ? 'the listing' : 'the sale';
    let waits: Promise<unknown> = Promise.resolve();
    const holder = await openDatabase({ url: db.url, poolSize: 1 });
    onTestFinished(() => holder.close());
    await holder.transaction(async (tx) => {
      // The trigger of the first act also holds this lock until the commit.
      await reserveWallet(tx, seller, wallet);
      waits = acts[second]();
      expect(await untilSomebodyWaits(tx).catch(() => false)).toBe(true);
    });
    await waits;
    await acts[first as keyof typeof acts]();
    expect(await readListing(database, sold)).toMatchObject({ sales: 1n, verified_sales: 0n });
    expect(await findFaults(database)).toEqual([]);
  },
);

test.each(['the vote', 'the purchase'])('where %s is first, the vote is of a buyer', async (first) => {
  const { database } = db;
  const { id: seller } = await seedMerchant(database);
  const { id: buyer } = await seedMerchant(database);
  const { id: listing } = await seedListing(database, seller);
  const acts = {
    'the vote': () => seedVote(database, listing, buyer),
    'the purchase': () => seedPaidPurchase(database, listing, { merchantId: buyer }),
  };
  const second = first === 'the vote' ? 'the purchase' : 'the vote';
  let waits: Promise<unknown> = Promise.resolve();
  const holder = await openDatabase({ url: db.url, poolSize: 1 });
  onTestFinished(() => holder.close());
  await holder.transaction(async (tx) => {
    // The trigger of the first act also holds this lock until the commit.
    await tx.run(sql`select lock_votes(array[${listing}::int8], array[${buyer}::int8])`);
    waits = acts[second]();
    expect(await untilSomebodyWaits(tx).catch(() => false)).toBe(true);
  });
  await waits;
  await acts[first as keyof typeof acts]();
  expect(await readListing(database, listing)).toMatchObject({ votes: 1n, buyer_votes: 1n });
  expect(await findFaults(database)).toEqual([]);
});

test('a vote of who took free goods, or only collects for another, is of no buyer', async () => {
  const { database } = db;
  const { id: seller } = await seedMerchant(database);
  const { id: free } = await seedListing(database, seller, { priceUnits: 0n });
  const { id: priced } = await seedListing(database, seller);
  const { id: taker } = await seedMerchant(database);
  await seedFreePurchase(database, free, taker);
  await seedVote(database, free, taker);
  await seedVote(database, priced, taker);
  const { id: collector } = await seedMerchant(database);
  await seedPaidPurchase(database, priced, { merchantId: collector, payerCollectsOnly: true });
  await seedVote(database, priced, collector);
  // The paying wallet belongs to no merchant.
  await seedPaidPurchase(database, priced, { payer: toHex(systemRandom.bytes(20)) });
  expect(await readListing(database, free)).toMatchObject({ votes: 1n, buyer_votes: 0n });
  expect(await readListing(database, priced)).toMatchObject({ votes: 2n, sales: 2n, buyer_votes: 0n });
});

const reserveWallet = (tx: Tx, seller: bigint, wallet: Hex): Promise<unknown> =>
  tx.run(sql`select lock_wallet_of(${seller}, ${Buffer.from(wallet.slice(2), 'hex')})`);

const untilSomebodyWaits = (tx: Tx): Promise<boolean> =>
  vi.waitUntil(
    async () => {
      const { waiting } = await tx.one<{ waiting: boolean }>(sql`
        select exists (select from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())) as waiting`);
      return waiting;
    },
    { timeout: 10_000 },
  );

test('what was there before is counted by the upgrade', async () => {
  const before = await mkdtemp(join(tmpdir(), 'openaisle-before-'));
  onTestFinished(() => rm(before, { recursive: true }));
  for (const name of await readdir(WHOLE)) if (name < '0021') await cp(join(WHOLE, name), join(before, name));
  const old = await createTestDatabase({ migrated: false });
  onTestFinished(() => old.drop());
  await migrate(old.url, before);
  await onServer(old.url, 'alter table events disable trigger events_tell_of_the_books');
  const stage = await openStage(old.database);
  for (const name of Object.keys(ACTS)) {
    for (let n = 0; n < 4; n += 1) await ACTS[name]?.(stage, n, n + 1).catch(refused);
  }
  await createSequencer({ database: old.database, clock: systemClock, log: recordingLog().log }).whenNumbered();
  await migrate(old.url, WHOLE);
  expect(await findFaults(old.database)).toEqual([]);
  const { kept } = await old.database.one<{ kept: bigint }>(sql`select count(*) as kept from listing_counters`);
  expect(kept).toBeGreaterThan(2n);
  const { marked } = await old.database.one<{ marked: bigint }>(sql`select count(*) as marked from buyer_votes`);
  expect(marked).toBeGreaterThan(0n);
});

test('a new listing reads few others, however many there are, also of the same wallet', async () => {
  const [one, two] = [await seedMerchant(db.database), await seedMerchant(db.database)];
  // Add other wallets, because with a single wallet the planner rightly reads all listings.
  for (let n = 0; n < 20; n += 1) await seedListing(db.database, (await seedMerchant(db.database)).id);
  const { id } = await seedListing(db.database, one.id, {});
  const copies = (merchant: bigint, count: number) => sql`
    insert into listings (id, merchant_id, price_units, seller_wallet, chain_id, created_at, artifact_commitment, artifact_bytes,
      artifact_encoding, artifact_media_type, body_hash, title, description, preview, tags, aisle)
    select (select max(id) from listings) + n, ${merchant}::int8, price_units, seller_wallet, chain_id, created_at, artifact_commitment,
      artifact_bytes, artifact_encoding, artifact_media_type, sha256(n::text::bytea), title, description, preview, tags, aisle
    from listings, generate_series(1, ${count}::int8) n where id = ${id}`;
  await db.database.run(copies(one.id, 3_000));
  await db.database.run(sql`analyze listings`);
  // Use a new connection, because one that has read before also counts reads that it has not reported to the server yet.
  const counting = await openDatabase({ url: db.url, poolSize: 1 });
  onTestFinished(() => counting.close());
  const read = await counting.transaction(async (tx) => {
    for (const merchant of [one.id, two.id]) await tx.run(copies(merchant, 1));
    return tx.one<{ rows: bigint }>(sql`
      select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'listings'`);
  });
  expect(Number(read.rows)).toBeLessThan(50);
});

test('a listing of a wallet that bought waits for no sale of what it bought, since that sale may wait for it', async () => {
  const seller = await seedMerchant(db.database);
  const wallet = toHex(systemRandom.bytes(20));
  const { id } = await seedListing(db.database, seller.id, {});
  await seedPaidPurchase(db.database, id, { payer: wallet });
  const actOf = () => db.database.one(sql`select edited_act from listings where id = ${id}`);
  const before = await actOf();
  const sale = await holdTransactionOpen(db.database, (tx) =>
    tx.one(sql`select id from listings where id = ${id} for share`),
  );
  await seedListing(db.database, seller.id, { wallet });
  expect(await actOf()).toEqual(before);
  await sale.commit();
  expect((await readListing(db.database, id))?.verified_sales).toBe(0n);
  expect(await findFaults(db.database)).toEqual([]);
});
