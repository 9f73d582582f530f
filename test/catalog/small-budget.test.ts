import { beforeAll, expect, it } from 'vitest';
import { loadModel } from '../../src/market/catalog/feed/load-model.ts';
import { applyListing } from '../../src/market/catalog/model/apply-changes.ts';
import { createModel } from '../../src/market/catalog/model/model.ts';
import { type ListingRow, readListing } from '../../src/market/catalog/store.ts';
import { yieldToEventLoop } from '../../src/platform/clock.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import { editListing, seedStock, withdrawListing } from '../support/seed.ts';
import { askOperation, askOrReason, fromMemory, type Said } from './ask.ts';
import { addressesOf, expectEqual } from './same-bytes.ts';
import { marketOf, openStage, perform, processOn, ROOMY_BYTES, type Stage } from './stage.ts';

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));
const LITTLE_BYTES = 150_000;
let stage: Stage;
let ids: bigint[];
beforeAll(async () => {
  stage = await openStage(db.database);
  const filler = 'word '.repeat(60);
  const stock = Array.from({ length: 700 }, (_, at) => ({
    title: `Lamp ${at}`,
    description: `${filler}${at % 3 === 0 ? 'map' : 'brass'} \u00e9\u5730`,
    aisle: at % 2 === 0 ? ('data' as const) : ('tools' as const),
    tags: at % 5 === 0 ? ['lamp'] : [],
    priceUnits: BigInt(at % 7) * 500_000n,
  }));
  ids = await seedStock(db.database, stage.sellers[0] ?? 0n, stock);
  for (let which = 0; which < 60; which += 1) {
    await perform(stage, ids, { kind: 'vote', which: which * 11, voter: which % 6 });
    if (which % 6 === 0) await perform(stage, ids, { kind: 'paid sale', which: which * 7 });
    if (which % 20 === 0) await perform(stage, ids, { kind: 'pin', which: which * 5 });
    if (which % 15 === 0) await perform(stage, ids, { kind: 'remove', which: which * 9 });
  }
});

it('with memory for a few listings every answer is byte for byte what it is with memory for all', async () => {
  const roomy = processOn(db.database, { clock });
  const little = processOn(db.database, { clock, memoryBytes: LITTLE_BYTES });
  for (const { catalog } of [roomy, little]) {
    await catalog.fresh();
    await catalog.searchable();
  }
  const held = ids.filter((id) => little.catalog.model().fragments.has(Number(id))).length;
  expect(held).toBeGreaterThan(20);
  expect(held).toBeLessThan(200);
  const cursors: string[] = [];
  for (const sort of ['new', 'karma', 'price_asc']) {
    const { text } = await askOperation(roomy, `/api/shelves?sort=${sort}`);
    cursors.push(`/api/shelves?sort=${sort}&cursor=${JSON.parse(text).next_cursor}`);
  }
  const some = ids.filter((_, at) => at % 20 === 0);
  const more = [...cursors, '/api/shelves?q=map&fields=outline', '/api/shelves?sort=price_desc&fields=outline'];
  let quickly = 0;
  for (const address of addressesOf([...some], [...more, ...some.map((id) => `/api/listing/${id}`)])) {
    const expected = await askOrReason(roomy, address);
    expectEqual(await askOrReason(little, address), expected, address);
    const plain = fromMemory(little, address);
    if (plain === null) continue;
    quickly += 1;
    expectEqual(plain, expected, address);
  }
  // Requests for rows that are not in memory go to the database and are never answered partially.
  expect(quickly).toBeGreaterThan(3);
  expect(fromMemory(little, `/api/listing/${ids[0]}`)).toBeNull();
});

it('a listing that changes while absent ones of its page are read is on the page as it was or as it is, tag and counts with it', async () => {
  const { database } = db;
  const model = createModel({
    fragmentBytes: LITTLE_BYTES,
    deflatedBytes: ROOMY_BYTES,
    pageBytes: 0,
    giveWay: yieldToEventLoop,
  });
  await loadModel(model, { database, followers: [], reportProgress: () => {}, stopped: () => false });
  let taken = Promise.withResolvers<void>();
  const market = marketOf(database, model, { changed: { fresh: () => taken.promise } });
  // Each page contains one row that is in memory and some that are not.
  const newest = ids.at(-1) ?? 0n;
  const oldest = ids[1] ?? 0n;
  await editListing(database, newest, { tags: ['mixed'] });
  await editListing(database, oldest, { tags: ['mixed'] });
  const rowOf = async (id: bigint): Promise<ListingRow> => {
    const row = await readListing(database, id);
    if (row === null) throw new Error('it is there');
    return row;
  };
  const take = (row: ListingRow): void => {
    applyListing(model, row);
    model.version += 1;
  };
  take(await rowOf(newest));
  take(await rowOf(oldest));
  const addresses = ['/api/shelves?tag=mixed', `/api/listing/${oldest}`, `/api/listing/${newest}`];
  const lookAll = (): Promise<Said>[] => addresses.map((address) => askOperation(market, address));
  for (let round = 0; round < 30; round += 1) {
    const before = await Promise.all(lookAll());
    expect(JSON.parse(before[0]?.text ?? '').total).toBe(2);
    const changed = round % 2 === 0 ? newest : oldest;
    await editListing(database, changed, { title: `Round ${round}` });
    const row = await rowOf(changed);
    taken = Promise.withResolvers();
    const reads = lookAll();
    // Make the change later and later during the reads, starting with the very next turn.
    for (let turn = 0; turn < round; turn += 1) await (turn < 15 ? Promise.resolve() : yieldToEventLoop());
    take(row);
    taken.resolve();
    const during = await Promise.all(reads);
    const after = await Promise.all(lookAll());
    for (const [at, address] of addresses.entries()) {
      const said = during[at] ?? null;
      const isOld = said?.etag === before[at]?.etag;
      expectEqual(said, (isOld ? before[at] : after[at]) ?? null, `${address} in round ${round}`);
    }
  }
});

it('a listing that has moved on in the database is met again after the next step', async () => {
  const little = processOn(db.database, { clock, memoryBytes: LITTLE_BYTES });
  await little.catalog.fresh();
  const id = ids[5] ?? 0n;
  const before = JSON.parse((await askOperation(little, `/api/listing/${id}`)).text);
  expect(before.listing.state).toBe('live');
  await withdrawListing(db.database, id);
  await editListing(db.database, ids[6] ?? 0n, { title: 'Moved on' });
  const after = JSON.parse((await askOperation(little, `/api/listing/${id}`)).text);
  expect(after.listing.state).toBe('withdrawn');
  const { text } = await askOperation(little, `/api/listing/${ids[6]}`);
  expect(JSON.parse(text).listing.title).toBe('Moved on');
});
