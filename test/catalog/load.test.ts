import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { applyFeed } from '../../src/market/catalog/feed/apply-feed.ts';
import { type Indexing, indexText } from '../../src/market/catalog/feed/index-text.ts';
import { loadModel } from '../../src/market/catalog/feed/load-model.ts';
import type { Moment } from '../../src/market/catalog/feed/store.ts';
import { unpackListing } from '../../src/market/catalog/model/listing-rows.ts';
import { createModel, type Model } from '../../src/market/catalog/model/model.ts';
import { readListings, readListingsBetween } from '../../src/market/catalog/store.ts';
import { yieldToEventLoop } from '../../src/platform/clock.ts';
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
import { askOperation } from './ask.ts';
import { expectEqual } from './same-bytes.ts';
import { marketOf, openStage, processOn, ROOMY_BYTES, type Stage } from './stage.ts';

const db = testDatabase();
let stage: Stage;
let ids: bigint[];
beforeAll(async () => {
  stage = await openStage(db.database);
  const stock = Array.from({ length: 1_300 }, (_, at) => ({
    title: `Goods ${at}`,
    description: at % 2 ? 'lamp "of" brass\n\ttab \u0001 \\ \u{1f600} \u2028' : 'map of the caf\u00e9',
    tags: at % 3 ? ['sea-map', 'lamp'] : [],
  }));
  ids = await seedStock(db.database, stage.sellers[0] ?? 0n, stock);
});

const idAt = (at: number): bigint => ids[at] ?? 0n;

async function read(): Promise<{ model: Model; moment: Moment }> {
  const model = createModel({
    fragmentBytes: ROOMY_BYTES,
    deflatedBytes: ROOMY_BYTES,
    pageBytes: 0,
    giveWay: yieldToEventLoop,
  });
  return {
    model,
    moment: await loadModel(model, {
      database: db.database,
      followers: [],
      reportProgress: () => {},
      stopped: () => false,
    }),
  };
}

const indexing = (): Indexing => ({
  database: db.database,
  giveWay: yieldToEventLoop,
  stopped: () => false,
  failed: (error) => Promise.reject(error),
  threadFrom: 1,
});

async function searchesOf(model: Model): Promise<string[]> {
  const market = marketOf(db.database, model);
  const said: string[] = [];
  for (const q of ['map', 'lamp', 'goods 7', '"of the cafe"', 'atlas', 'lammp ', 'brass -map']) {
    said.push((await askOperation(market, `/api/shelves?limit=50&q=${encodeURIComponent(q)}`)).text);
  }
  return said;
}

it('listings read in ranges are those read by id, to the last column', async () => {
  const { database } = db;
  await withdrawListing(database, idAt(1));
  await removeListing(database, idAt(2));
  await seedVote(database, idAt(3), stage.voters[0] ?? 0n);
  await seedPaidPurchase(database, idAt(4));
  // Disable the market's own rules, because the load must accept every row that the tables allow.
  await database.run(sql`alter table listings disable trigger user`);
  await database.run(sql`
    update listings set created_at = '2026-01-06 10:11:12.289999+00', tags = array['with space', 'a"b', ''] where id = ${idAt(5)}`);
  await database.run(sql`
    update listings set created_at = '2026-01-06 10:11:12+00', artifact_media_type = 'text/plain; charset=utf-8',
      price_units = 10000000000, pinned = true where id = ${idAt(6)}`);
  await database.run(sql`alter table listings enable trigger user`);
  const packed = await readListingsBetween(database, idAt(0) - 1n, idAt(99));
  expect(packed).toHaveLength(100);
  expect(packed.map(unpackListing)).toEqual(await readListings(database, ids.slice(0, 100)));
});

it('an index whose words a thread has found says what one without a thread says', async () => {
  const [{ model: threaded }, { model: alone }] = [await read(), await read()];
  await indexText(threaded, indexing());
  await indexText(alone, { ...indexing(), threadFrom: Number.POSITIVE_INFINITY });
  expect(await searchesOf(threaded)).toEqual(await searchesOf(alone));
  const facts = ({ text }: Model) => [text.listings(), text.terms(), text.bytes()];
  expect(facts(threaded)).toEqual(facts(alone));
});

it('what changes while a thread finds words is in the index as it became', async () => {
  const { database } = db;
  const { model, moment } = await read();
  const market = marketOf(database, model);
  let since = moment;
  let pauses = 0;
  await indexText(model, {
    ...indexing(),
    giveWay: async () => {
      pauses += 1;
      // The thread already has the first requests, so its answers will be outdated.
      if (pauses === 1) {
        for (const part of [0, 400, 1_200]) {
          await editListing(database, idAt(part + 11), { title: 'Atlas of before' });
          await withdrawListing(database, idAt(part + 12));
          await removeListing(database, idAt(part + 13));
          await removeListing(database, idAt(part + 14));
          await restoreListing(database, idAt(part + 14));
        }
        await seedStock(database, stage.sellers[1] ?? 0n, [{ title: 'Brass atlas', tags: ['lamp'] }]);
      }
      since = (await applyFeed(model, since, { database, followers: [], requestedIds: [] })) ?? since;
      await yieldToEventLoop();
    },
  });
  const fresh = processOn(database);
  await fresh.catalog.fresh();
  await fresh.catalog.searchable();
  for (const q of ['map', 'lamp', 'atlas', 'brass', 'goods%20-lamp', '%22goods%207%22']) {
    const address = `/api/shelves?limit=50&q=${q}`;
    expectEqual(await askOperation(market, address), await askOperation(fresh, address), address);
  }
  expect(model.text.listings()).toBe(model.live.count);
});

it('what a thread that failed leaves undone is indexed without it', async () => {
  const { model } = await read();
  const id = Number(idAt(600));
  const whole = Buffer.from(model.fragments.view(id) ?? []);
  model.fragments.put(id, Buffer.from('{"not":JSON,"description":""'), { head: 11, line: 0 });
  const told: unknown[] = [];
  const failed = async (error: unknown): Promise<void> => {
    told.push(error);
    model.fragments.put(id, whole, { head: whole.indexOf(',"description":'), line: 0 });
  };
  await indexText(model, { ...indexing(), failed });
  expect(told).toHaveLength(1);
  expect(String(told[0])).toContain('SyntaxError');
  const { model: fresh } = await read();
  await indexText(fresh, { ...indexing(), threadFrom: Number.POSITIVE_INFINITY });
  expect(await searchesOf(model)).toEqual(await searchesOf(fresh));
});

it('a reader that stops ends its index thread', async () => {
  const { model } = await read();
  let pauses = 0;
  const counted = async (): Promise<void> => {
    pauses += 1;
  };
  await indexText(model, { ...indexing(), giveWay: counted, stopped: () => pauses > 0 });
  expect(pauses).toBe(1);
  expect(model.textUpTo).toBeLessThan(model.newestId);
});
