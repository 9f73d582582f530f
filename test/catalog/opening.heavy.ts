import sql from 'sql-template-tag';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import { testDatabase } from '../support/database.ts';
import {
  editListing,
  removeListing,
  restoreListing,
  seedPaidPurchase,
  seedStock,
  seedVote,
  withdrawListing,
} from '../support/seed.ts';
import { askOperation, askOrReason, fromMemory } from './ask.ts';
import { addressesOf, expectEqual, expectSame } from './same-bytes.ts';
import { openStage, processOn, type Stage } from './stage.ts';

const db = testDatabase();
let stage: Stage;
let ids: bigint[];
beforeAll(async () => {
  stage = await openStage(db.database);
  const words = ['lamp', 'map', 'brass', 'atlas', 'lamps'];
  const stock = Array.from({ length: 4_300 }, (_, at) => ({
    title: `Goods ${at}`,
    description: `${words[at % 5]} ${words[at % 3]} caf\u00e9`,
    tags: at % 7 === 0 ? ['lamp'] : [],
    pinned: at === 11,
    aisle: at >= 100 && at < 110 ? ('tools' as const) : ('other' as const),
  }));
  ids = await seedStock(db.database, stage.sellers[0] ?? 0n, stock);
  await withdrawListing(db.database, idAt(3));
  await removeListing(db.database, idAt(4));
  await removeListing(db.database, idAt(5));
  await restoreListing(db.database, idAt(5));
  for (const at of [6, 7]) await seedVote(db.database, idAt(at), stage.voters[at % 6] ?? 0n);
  await seedPaidPurchase(db.database, idAt(8));
});

const idAt = (at: number): bigint => ids[at] ?? 0n;

interface Held {
  database: Database;
  /** Resolves with the connection that is about to read JSON while requests are served. */
  reading: Promise<number>;
  letGo(): void;
  /** Returns the number of listing batches so far, including the one that was read before the shelves opened. */
  portions(): number;
}

/** Opens the same database and delays JSON that is read after the shelves were opened. */
function holdBack(): Held {
  const reading = Promise.withResolvers<number>();
  const gate = Promise.withResolvers<void>();
  let portions = 0;
  const database: Database = {
    ...db.database,
    transaction: (act, options) =>
      db.database.transaction(
        (tx) =>
          act({
            ...tx,
            rows: async (query) => {
              if (!query.sql.includes('appealed as')) return tx.rows(query);
              portions += 1;
              // The newest listings are read before the shelves open.
              if (portions > 1) {
                if (portions === 2)
                  reading.resolve((await tx.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)).pid);
                await gate.promise;
              }
              return tx.rows(query);
            },
          }),
        options,
      ),
  };
  return { database, reading: reading.promise, letGo: gate.resolve, portions: () => portions };
}

async function opened() {
  const held = holdBack();
  const market = processOn(held.database);
  await market.catalog.start();
  const pid = await held.reading;
  onTestFinished(async () => {
    held.letGo();
    await market.catalog.stop();
  });
  return { ...held, market, pid };
}

async function complete() {
  const market = processOn(db.database);
  await market.catalog.fresh();
  await market.catalog.searchable();
  return market;
}

/** Returns URLs of old listings, and of old and new ones together, without a text search. */
function withoutWords(): string[] {
  const oldest = `/api/listing/${ids[0]}`;
  const details = [3, 4, 5, 6, 8, 11, 2_500].map((at) => `/api/listing/${idAt(at)}`);
  return [...addressesOf(ids, ['/api/shelves?tag=lamp&limit=50&sort=price_asc', oldest, ...details])].filter(
    (address) => !address.includes('q='),
  );
}

it('shelves are complete before their listings are read, and say what a copy says that has read them all', async () => {
  const { market, letGo } = await opened();
  const other = await complete();
  // The listings on this page are not in memory.
  const deep = '/api/shelves?sort=karma&limit=50';
  const first = await askOperation(other, deep);
  expect(fromMemory(market, deep)).toBeNull();
  for (const at of [3, 4, 20]) expect(fromMemory(market, `/api/listing/${idAt(at)}`)).toBeNull();
  // The newest listings and the pinned ones are in memory.
  expect(fromMemory(market, `/api/listing/${idAt(4_299)}`)).not.toBeNull();
  expect(fromMemory(market, '/api/window')).not.toBeNull();
  expect(fromMemory(market, '/api/shelves?limit=50')).toEqual(await askOperation(other, '/api/shelves?limit=50'));
  for (const address of withoutWords()) {
    const expected = await askOrReason(other, address);
    expectEqual(await askOrReason(market, address), expected, address);
    // Listings that a request waited for stay in memory.
    const quick = fromMemory(market, address);
    if (quick !== null) expectEqual(quick, expected, address);
  }
  expect(fromMemory(market, deep)).toEqual(first);
  expect((await askOrReason(market, '/api/shelves?q=lamp')).text).toBe('search_not_ready');
  letGo();
  await market.logged('catalog_filled');
  await expectSame(market, other, addressesOf(ids));
  expect(market.catalog.model().text.listings()).toBe(other.catalog.model().text.listings());
});

it('nothing is kept of a page that was asked for too early', async () => {
  const { market, letGo } = await opened();
  const address = '/api/shelves?aisle=tools';
  expect(fromMemory(market, address)).toBeNull();
  letGo();
  await market.logged('catalog_filled');
  expectEqual(fromMemory(market, address), await askOperation(await complete(), address), address);
});

it('a whole store is sent from its first listing on while they are read', async () => {
  const { market } = await opened();
  const address = '/api/store/lamp-house';
  expectEqual(await askOperation(market, address), await askOperation(await complete(), address), address);
});

it('what changes before it was read is shown as it became, and stays', async () => {
  const { market, letGo } = await opened();
  const { database } = db;
  await editListing(database, idAt(30), { title: 'Edited early', description: 'zinc' });
  await withdrawListing(database, idAt(31));
  await removeListing(database, idAt(32));
  await seedVote(database, idAt(33), stage.voters[0] ?? 0n);
  await seedPaidPurchase(database, idAt(34));
  const [added = 0n] = await seedStock(database, stage.sellers[1] ?? 0n, [{ title: 'Zinc lamp' }]);
  await market.catalog.fresh();
  const other = await complete();
  const addresses = [...[30, 31, 32, 33, 34].map((at) => `/api/listing/${idAt(at)}`), `/api/listing/${added}`];
  for (const address of addresses)
    expectEqual(await askOperation(market, address), await askOperation(other, address), address);
  letGo();
  await market.logged('catalog_filled');
  await expectSame(market, other, addressesOf(ids, [...addresses, '/api/shelves?q=zinc', '/api/shelves?sort=karma']));
});

it('what a broken connection left unread is read by steps', async () => {
  const { market, letGo, pid } = await opened();
  const wanted = askOperation(market, `/api/listing/${idAt(40)}`);
  await db.database.rows(sql`select pg_terminate_backend(${pid}::int4)`);
  letGo();
  expect(JSON.parse((await wanted).text).listing.title).toBe('Goods 40');
  await market.logged('catalog_filled_by_steps');
  await market.logged('catalog_filled');
  const { model } = market.catalog;
  expect(ids.every((id) => model().fragments.has(Number(id)))).toBe(true);
  await expectSame(market, await complete(), addressesOf(ids));
});

it('a process that is stopped meanwhile reads no further', async () => {
  const { market, letGo, portions } = await opened();
  const stopped = market.catalog.stop();
  letGo();
  await stopped;
  expect(portions()).toBeLessThanOrEqual(3);
  expect(market.lines.filter(({ event }) => event === 'catalog_filled')).toEqual([]);
  expect(market.lines.filter(({ level }) => level !== 'info')).toEqual([]);
});
