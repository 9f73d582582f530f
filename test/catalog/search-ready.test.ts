import { beforeAll, expect, it } from 'vitest';
import { applyFeed } from '../../src/market/catalog/feed/apply-feed.ts';
import { type Indexing, indexText } from '../../src/market/catalog/feed/index-text.ts';
import { loadModel } from '../../src/market/catalog/feed/load-model.ts';
import type { Moment } from '../../src/market/catalog/feed/store.ts';
import { createModel, type Model } from '../../src/market/catalog/model/model.ts';
import { yieldToEventLoop } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import { testDatabase } from '../support/database.ts';
import { editListing, removeListing, restoreListing, seedStock, withdrawListing } from '../support/seed.ts';
import { askOperation, fromMemory } from './ask.ts';
import { expectEqual } from './same-bytes.ts';
import { marketOf, openStage, processOn, ROOMY_BYTES, type Stage } from './stage.ts';

const db = testDatabase();
let stage: Stage;
let ids: bigint[];
beforeAll(async () => {
  stage = await openStage(db.database);
  const stock = Array.from({ length: 350 }, (_, at) => ({
    title: `Goods ${at}`,
    description: at % 2 ? 'lamp' : 'map',
  }));
  ids = await seedStock(db.database, stage.sellers[0] ?? 0n, stock);
});

const SEARCHES = ['map', 'lamp', 'atlas', 'brass', 'goods -lamp&sort=new', '"goods 7"', 'lammp '].map(
  (q) => `/api/shelves?limit=50&q=${q}`,
);

async function read(fragmentBytes = ROOMY_BYTES): Promise<{ model: Model; moment: Moment }> {
  const model = createModel({ fragmentBytes, deflatedBytes: ROOMY_BYTES, pageBytes: 0, giveWay: yieldToEventLoop });
  const loading = { database: db.database, followers: [], reportProgress: () => {}, stopped: () => false };
  return { model, moment: await loadModel(model, loading) };
}

const never = (): boolean => false;
const failed = (error: unknown): Promise<void> => Promise.reject(error);
const indexing = (): Indexing => ({ database: db.database, giveWay: yieldToEventLoop, stopped: never, failed });

async function refusalOf(act: Promise<unknown>): Promise<Refusal> {
  const thrown = await act.then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown instanceof Refusal) return thrown;
  throw new Error('it was not refused');
}

it('until the text index is complete words are refused with a time to come back, and everything else is served', async () => {
  const { model } = await read();
  const market = marketOf(db.database, model);
  const pauses: string[] = [];
  await indexText(model, {
    ...indexing(),
    giveWay: async () => {
      const refused = await refusalOf(askOperation(market, '/api/shelves?q=map'));
      expect(refused.options.retryAfterSeconds).toBeGreaterThan(0);
      expect(fromMemory(market, '/api/shelves?q=map')).toBeNull();
      expect(fromMemory(market, '/api/shelves?sort=karma')).not.toBeNull();
      expect(fromMemory(market, `/api/listing/${ids[0]}`)).not.toBeNull();
      pauses.push(refused.reason);
    },
  });
  expect(pauses.length).toBeGreaterThan(2);
  expect(new Set(pauses)).toEqual(new Set(['search_not_ready']));
  expect(JSON.parse(fromMemory(market, '/api/shelves?q=map&limit=1')?.text ?? '').total).toBe(175);
});

/** Changes listings that are already indexed and listings that are not yet. */
async function changeAll(): Promise<void> {
  const { database } = db;
  for (const half of [0, 1]) {
    const at = (index: number): bigint => ids[half * 300 + index] ?? 0n;
    await editListing(database, at(1), { title: 'Atlas of before' });
    await withdrawListing(database, at(2));
    await removeListing(database, at(3));
    await removeListing(database, at(4));
    await restoreListing(database, at(4));
    await editListing(database, at(5), { description: 'brass' });
    await withdrawListing(database, at(5));
  }
  await seedStock(database, stage.sellers[1] ?? 0n, [{ title: 'Brass atlas', tags: ['lamp'] }]);
}

for (const [name, budget] of [
  ['in memory', ROOMY_BYTES],
  ['out of memory for the most part', 100_000],
] as const) {
  it(`what changes while the index is built is in it, with fragments ${name}`, async () => {
    const { model, moment } = await read(budget);
    expect(model.fragments.has(Number(ids[0]))).toBe(budget === ROOMY_BYTES);
    const market = marketOf(db.database, model);
    let since = moment;
    let pauses = 0;
    await indexText(model, {
      ...indexing(),
      giveWay: async () => {
        pauses += 1;
        if (pauses === 1) await changeAll();
        since = (await applyFeed(model, since, { database: db.database, followers: [], requestedIds: [] })) ?? since;
      },
    });
    const fresh = processOn(db.database);
    await fresh.catalog.fresh();
    await fresh.catalog.searchable();
    for (const address of SEARCHES)
      expectEqual(await askOperation(market, address), await askOperation(fresh, address), address);
    expect(model.text.listings()).toBe(model.live.count);
  });
}

it('what changes between the question to the database and its answer is in the index as it became', async () => {
  const { model, moment } = await read(100_000);
  const market = marketOf(db.database, model);
  let asked = 0;
  // Delay the row that was read until a later change was followed, so that the row is outdated.
  const slow: Database = {
    ...db.database,
    rows: async (query) => {
      const rows = await db.database.rows(query);
      asked += 1;
      if (asked === 1) {
        await editListing(db.database, ids[10] ?? 0n, { title: 'Quickly changed' });
        await withdrawListing(db.database, ids[12] ?? 0n);
        await applyFeed(model, moment, { database: db.database, followers: [], requestedIds: [] });
      }
      return rows as never;
    },
  };
  await indexText(model, { ...indexing(), database: slow });
  const found = JSON.parse((await askOperation(market, '/api/shelves?q=quickly')).text);
  expect(found.listings.map(({ id }: { id: number }) => id)).toEqual([Number(ids[10])]);
  expect(JSON.parse((await askOperation(market, '/api/shelves?q=%22goods+10%22')).text).total).toBe(0);
  expect(model.text.listings()).toBe(model.live.count);
});

it('an index that the database failed is finished when it answers again', async () => {
  const { model } = await read(100_000);
  const market = marketOf(db.database, model);
  let failures = 2;
  const failing: Database = {
    ...db.database,
    rows: async (query) => {
      if (failures > 0) {
        failures -= 1;
        throw new Error('the database is away');
      }
      return db.database.rows(query);
    },
  };
  const told: unknown[] = [];
  await indexText(model, { ...indexing(), database: failing, failed: async (error) => void told.push(error) });
  expect(told).toHaveLength(2);
  expect(model.text.listings()).toBe(model.live.count);
  expect(JSON.parse((await askOperation(market, '/api/shelves?q=goods')).text).total).toBeGreaterThan(300);
});

it('a query that was prepared for a model which is gone is not answered from the beginnings of another index', async () => {
  const { model: ready } = await read();
  await indexText(ready, indexing());
  const { model: raw } = await read();
  let asked = 0;
  const market = marketOf(db.database, ready, {
    changed: {
      model: () => {
        asked += 1;
        return asked <= 2 ? ready : raw;
      },
    },
  });
  expect((await refusalOf(askOperation(market, '/api/shelves?q=map'))).reason).toBe('search_not_ready');
});
