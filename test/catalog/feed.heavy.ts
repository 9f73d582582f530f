import fc from 'fast-check';
import type { Client } from 'pg';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { applyFeed } from '../../src/market/catalog/feed/apply-feed.ts';
import { loadModel } from '../../src/market/catalog/feed/load-model.ts';
import { pruneChanges } from '../../src/market/catalog/feed/store.ts';
import { createModel } from '../../src/market/catalog/model/model.ts';
import { yieldToEventLoop } from '../../src/platform/clock.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { toHex } from '../../src/platform/hex.ts';
import { rotatedRounds, rotationPart } from '../suite/rotation.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock, type TestMarket } from '../support/market-context.ts';
import { onServer } from '../support/run-postgres.ts';
import { editListing, seedListing, seedMerchant, seedPaidPurchase, seedStock, seedVote } from '../support/seed.ts';
import { askOperation } from './ask.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { marketOf, openStage, perform, processOn, ROOMY_BYTES, type Stage } from './stage.ts';

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));
let stage: Stage;
beforeAll(async () => {
  stage = await openStage(db.database);
});

const CONNECTIONS = 4;
const clients: Client[] = [];
beforeAll(async () => {
  for (let at = 0; at < CONNECTIONS; at += 1) {
    clients.push(await connectClient({ url: db.url, applicationName: 'openaisle-test', statementTimeoutMs: 5_000 }));
  }
});
afterAll(async () => {
  for (const client of clients) await client.end();
});

const seller = (): bigint => stage.sellers[0] ?? 0n;
const stockOf = (count: number) => Array.from({ length: count }, (_, at) => ({ title: `Lamp ${at} map` }));

/** Changes rows that only this connection changes, so that no connection waits for another one's commit. */
async function changeRows(client: Client, at: number, ids: readonly bigint[], which: number): Promise<void> {
  const id = ids[which % ids.length];
  if (at === 0) {
    // This update takes an edit number, which only one transaction at a time can do.
    await client.query('update listings set title = $1, pinned = not pinned where id = $2', [`brass ${which}`, id]);
  } else if (at === 1) {
    await client.query('update merchants set store_line = $1 where id = $2', [
      `line ${which}`,
      stage.voters[which % 6],
    ]);
  } else {
    const voter = stage.voters[(which % 3) + (at - 2) * 3];
    const vote =
      'insert into votes (listing_id, merchant_id, created_at) values ($1, $2, now()) on conflict do nothing';
    await client.query(vote, [id, voter]);
  }
}

const schedule = fc.array(
  fc.record({
    at: fc.nat(CONNECTIONS - 1),
    act: fc.constantFrom('write', 'write', 'write', 'undone write', 'commit', 'rollback', 'look', 'other looks'),
    which: fc.nat(100),
  }),
  { minLength: 5, maxLength: 40, size: 'max' },
);

interface Act {
  at: number;
  act: string;
  which: number;
}

interface Scene {
  ids: readonly bigint[];
  open: Set<Client>;
  one: TestMarket;
  other: TestMarket;
}

async function play({ at, act, which }: Act, { ids, open, one, other }: Scene): Promise<void> {
  const client = clients[at];
  if (client === undefined) throw new Error('no such connection');
  if (act === 'look') return one.catalog.fresh();
  if (act === 'other looks') return other.catalog.fresh();
  if (act === 'commit' || act === 'rollback') {
    if (open.delete(client)) await client.query(act);
    return;
  }
  if (!open.has(client)) await client.query('begin');
  open.add(client);
  if (act === 'undone write') await client.query('savepoint s');
  await changeRows(client, at, ids, which);
  if (act === 'undone write') await client.query('rollback to savepoint s');
}

it('transactions that begin, undo a part, and commit in any order are taken in once each, whenever a follower looks', async () => {
  const one = processOn(db.database, { clock });
  const other = processOn(db.database, { clock });
  await fc.assert(
    fc.asyncProperty(schedule, async (acts) => {
      const ids = await seedStock(db.database, seller(), stockOf(4));
      const open = new Set<Client>();
      for (const act of acts) await play(act, { ids, open, one, other });
      for (const client of open) await client.query('commit');
      const fresh = processOn(db.database, { clock });
      await expectSame(one, fresh, addressesOf(ids));
      await expectSame(other, fresh, ['/api/shelves', '/api/shelves?sort=karma&limit=5', '/api/merchants']);
    }),
    { numRuns: rotatedRounds(import.meta.filename, 30), seed: 20_260_109 + rotationPart() },
  );
  expect(one.lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(1);
}, 60_000);

it('a transaction that began first and commits last, after many others and many looks, is not skipped', async () => {
  const market = processOn(db.database, { clock });
  const ids = await seedStock(db.database, seller(), stockOf(3));
  const [slow, quick] = clients;
  if (slow === undefined || quick === undefined) throw new Error('two connections');
  await slow.query('begin');
  await changeRows(slow, 2, ids, 0);
  for (let which = 0; which < 20; which += 1) {
    await quick.query('begin');
    await changeRows(quick, 3, ids, which);
    await quick.query('commit');
    await market.catalog.fresh();
  }
  await slow.query('commit');
  await expectSame(market, processOn(db.database, { clock }), addressesOf(ids));
});

it('a purchase and a listing of the same wallet by the same seller, committed side by side, leave no verified sale', async () => {
  const market = processOn(db.database, { clock });
  const { id } = await seedListing(db.database, seller(), { title: 'Lamp of the race' });
  const { id: second } = await seedListing(db.database, seller(), { title: 'Second lamp' });
  const payer = toHex(Buffer.alloc(20, 0x5a));
  await market.catalog.fresh();
  const listed = Promise.withResolvers<void>();
  const bought = Promise.withResolvers<void>();
  // The listing is written before the purchase, which waits for the listing's commit.
  const listing = db.database.transaction(async (tx) => {
    await tx.run(sql`insert into wallet_uses (wallet, kind) values (${Buffer.alloc(20, 0x5a)}, 'ordinary')`);
    await tx.run(sql`
      insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, created_at,
        artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash)
      select (select max(id) + 1 from listings), merchant_id, title, description, preview, price_units,
        ${Buffer.alloc(20, 0x5a)}, tags, aisle, created_at, artifact_commitment, artifact_bytes, artifact_encoding,
        artifact_media_type, sha256('race') from listings where id = ${second}`);
    listed.resolve();
    await bought.promise;
  });
  await listed.promise;
  const purchase = seedPaidPurchase(db.database, id, { payer });
  const isWaiting = async (): Promise<boolean> => {
    const waiting = await db.database.rows(sql`
      select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`);
    return waiting.length > 0;
  };
  await vi.waitUntil(isWaiting, { timeout: 10_000 });
  await market.catalog.fresh();
  bought.resolve();
  await Promise.all([listing, purchase]);
  await expectSame(market, processOn(db.database, { clock }), addressesOf([id, second]));
});

it('a follower whose changes were deleted before it read them reads everything again', async () => {
  const market = processOn(db.database, { clock });
  const ids = await seedStock(db.database, seller(), stockOf(3));
  await market.catalog.fresh();
  await editListing(db.database, ids[0] ?? 0n, { title: 'A change without a notice' });
  await seedVote(db.database, ids[1] ?? 0n, stage.voters[0] ?? 0n);
  // Another transaction on the server, even in another database, may briefly delay pruning of the oldest changes.
  while ((await db.database.rows(sql`select from catalog_changes`)).length > 0) await pruneChanges(db.database, 0);
  await expectSame(market, processOn(db.database, { clock }), addressesOf(ids));
  expect(market.lines.map(({ event }) => event)).toContain('catalog_feed_reset');
  // A single vote is enough.
  await seedVote(db.database, ids[2] ?? 0n, stage.voters[0] ?? 0n);
  await market.catalog.fresh();
  expect(market.lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(2);
});

it('goes on with what it knows while the database is away, and catches up when it is back', async () => {
  const name = new URL(db.url).pathname.slice(1);
  const { adminUrl } = inject('testPostgres');
  const own = await openDatabase({
    url: db.url,
    poolSize: 2,
    applicationName: 'openaisle-follower',
    allowUnsafe: true,
  });
  const market = processOn(own);
  try {
    const ids = await seedStock(db.database, seller(), stockOf(3));
    await market.catalog.start();
    const before = await askOperation(market, `/api/listing/${ids[0]}`);
    await onServer(adminUrl, `alter database ${name} allow_connections false`);
    await onServer(
      adminUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'openaisle-follower'`,
    );
    await market.logged('catalog_feed_failed');
    for (const kind of ['withdraw', 'pin', 'free sale', 'remove'] as const)
      await perform(stage, [...ids], { kind, which: 0 });
    await editListing(db.database, ids[1] ?? 0n, { title: 'Changed meanwhile' });
    expect(await askOperation(market, `/api/listing/${ids[0]}`)).toEqual(before);
    await expect(market.catalog.fresh()).rejects.toThrow();
    expect(market.catalog.facts().feedLagSeconds).toBeGreaterThan(0);
    await onServer(adminUrl, `alter database ${name} allow_connections true`);
    await market.logged('catalog_feed_recovered');
    await expectSame(market, processOn(db.database), addressesOf(ids));
  } finally {
    await onServer(adminUrl, `alter database ${name} allow_connections true`);
    await market.catalog.stop();
    await own.close();
  }
});

it('the same change taken in twice is taken in once', async () => {
  const { database } = db;
  const ids = await seedStock(database, seller(), stockOf(6));
  const model = createModel({
    fragmentBytes: ROOMY_BYTES,
    deflatedBytes: ROOMY_BYTES,
    pageBytes: 0,
    giveWay: yieldToEventLoop,
  });
  model.textUpTo = Number.POSITIVE_INFINITY;
  const followers = { database, followers: [], requestedIds: [] };
  const since = await loadModel(model, { ...followers, reportProgress: () => {}, stopped: () => false });
  for (const kind of ['withdraw', 'pin', 'free sale', 'remove', 'pin', 'paid sale'] as const) {
    await perform(stage, [...ids], { kind, which: ids.length - 1 });
    await perform(stage, [...ids], {
      kind: 'edit',
      which: 2,
      part: { title: `${kind} map`, tags: ['red'], aisle: 'data' },
    });
    await perform(stage, [...ids], { kind: 'vote', which: 3, voter: 1 });
  }
  await seedMerchant(database, { handle: 'new-twice' });
  const market = marketOf(database, model, { clock });
  const said: unknown[] = [];
  for (let time = 0; time < 2; time += 1) {
    expect(await applyFeed(model, since, followers)).not.toBeNull();
    const addresses = addressesOf(ids).filter((address) => !address.includes('q=') && !address.includes('window'));
    const answers = [];
    for (const address of addresses) {
      const refused = address.includes('no-such') || address.includes('999999');
      if (!refused) answers.push(await askOperation(market, address));
    }
    said.push(answers);
  }
  expect(said[0]).toEqual(said[1]);
  const fresh = processOn(database, { clock });
  await fresh.catalog.fresh();
  expect(await askOperation(market, '/api/shelves?sort=sales')).toEqual(
    await askOperation(fresh, '/api/shelves?sort=sales'),
  );
});
