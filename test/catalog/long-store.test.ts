import { beforeAll, expect, it } from 'vitest';
import type { Endpoints } from '../../src/contract/index.ts';
import { endpoints } from '../../src/contract/index.ts';
import type { MarketCall } from '../../src/market/context.ts';
import { makeGetStore } from '../../src/market/merchants/get-store.ts';
import { testDatabase } from '../support/database.ts';
import type { TestMarket } from '../support/market-context.ts';
import { editListing, pinListing, seedMerchant, seedStock, withdrawListing } from '../support/seed.ts';
import { askOperation, fromMemory } from './ask.ts';
import { processOn } from './stage.ts';

const db = testDatabase();
const SIZE = 1_500;
const FEW_BYTES = 300_000;
let ids: bigint[];
let other: bigint;
beforeAll(async () => {
  const keeper = await seedMerchant(db.database, { handle: 'store-of-many' });
  const neighbour = await seedMerchant(db.database, { handle: 'neighbour' });
  [other = 0n] = await seedStock(db.database, neighbour.id, [{ title: 'Not of the store' }]);
  ids = await seedStock(
    db.database,
    keeper.id,
    Array.from({ length: SIZE }, (_, at) => ({ title: `Lamp "${at}"\u2028 \\ \u5730`, pinned: at === 3 })),
  );
});

interface Store {
  merchant: { listings: number };
  listings: { id: number; title: string; state: string; merchant: string }[];
  total: number;
  returned: number;
  page_size: number;
  has_more: boolean;
  next_before_id: number | null;
}

async function piecesOf(market: TestMarket, query: { before_id?: bigint } = {}): Promise<AsyncIterator<Uint8Array>> {
  const call = { params: { handle: 'store-of-many' }, query, caller: null } as MarketCall<Endpoints['getStore']>;
  const answer = await makeGetStore(market.catalog)(market, call);
  if (!('prepared' in answer) || !('pieces' in answer.prepared)) throw new Error('it is not sent in pieces');
  expect(answer.prepared.etag).toBeNull();
  return answer.prepared.pieces[Symbol.asyncIterator]();
}

function checkWhole(store: Store, expected: readonly bigint[]): void {
  expect(store.listings.map(({ id }) => id)).toEqual(expected.map(Number).reverse());
  expect(store.returned).toBe(store.listings.length);
  expect(store.page_size).toBe(store.listings.length);
  expect(store.has_more).toBe(false);
  expect(store.next_before_id).toBeNull();
}

it('a store of 1,500 listings is sent whole, newest first, with right counts, in and out of memory alike', async () => {
  const roomy = processOn(db.database);
  const little = processOn(db.database, { memoryBytes: FEW_BYTES });
  const texts: string[] = [];
  for (const market of [roomy, little]) {
    await market.catalog.fresh();
    const { etag, text } = await askOperation(market, '/api/store/store-of-many');
    expect(etag).toBeNull();
    expect(fromMemory(market, '/api/store/store-of-many')).toBeNull();
    const store = endpoints.getStore.answers[200].parse(JSON.parse(text)) as Store;
    checkWhole(store, ids);
    expect(store.total).toBe(SIZE);
    expect(store.merchant.listings).toBe(SIZE);
    texts.push(text);
  }
  expect(little.catalog.model().fragments.has(Number(ids[0]))).toBe(false);
  expect(texts[0]).toBe(texts[1]);
});

it('a store that is continued behind a listing is whole from there on, and its total counts all of it', async () => {
  const market = processOn(db.database);
  await market.catalog.fresh();
  const at = ids[1_200] ?? 0n;
  const store: Store = JSON.parse((await askOperation(market, `/api/store/store-of-many?before_id=${at}`)).text);
  checkWhole(store, ids.slice(0, 1_200));
  expect(store.total).toBe(SIZE);
  const pages: number[] = [];
  let next: number | null = Number(at);
  while (next !== null) {
    const page: Store = JSON.parse(
      (await askOperation(market, `/api/store/store-of-many?limit=50&before_id=${next}`)).text,
    );
    expect(page.total).toBe(SIZE);
    expect(page.has_more).toBe(page.next_before_id !== null);
    pages.push(...page.listings.map(({ id }) => id));
    next = page.next_before_id;
  }
  expect(pages).toEqual(ids.slice(0, 1_200).map(Number).reverse());
  await expect(askOperation(market, `/api/store/store-of-many?before_id=${other}`)).rejects.toMatchObject({
    reason: 'cursor_invalid',
  });
});

for (const [name, memoryBytes] of [
  ['in memory', 64 * 1_048_576],
  ['out of memory', FEW_BYTES],
] as const) {
  it(`while it is sent, listings ${name} are withdrawn, changed and added: the JSON stays whole and counts what was sent`, async () => {
    const market = processOn(db.database, { memoryBytes });
    await market.catalog.fresh();
    const live = market.catalog.model().merchantOfHandle.get('store-of-many')?.live.count ?? 0;
    const pieces = await piecesOf(market);
    const parts: Uint8Array[] = [];
    const gone: bigint[] = [];
    let count = 0;
    for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {
      // Keep the chunks themselves, because copies would hide that a chunk is overwritten later.
      parts.push(piece.value);
      count += 1;
      if (count !== 3) continue;
      // Change one row that was sent, one that comes next, and one at the end. All rows between them stay.
      for (const at of [SIZE - 10, SIZE - 250, 20]) {
        const id = ids[at] ?? 0n;
        await withdrawListing(db.database, id);
        gone.push(id);
      }
      await editListing(db.database, ids[700] ?? 0n, { title: `Changed while it was sent, ${name}` });
      await pinListing(db.database, ids[701] ?? 0n, name === 'in memory');
      await market.catalog.fresh();
    }
    const store = endpoints.getStore.answers[200].parse(JSON.parse(Buffer.concat(parts).toString('utf8'))) as Store;
    const [, ...later] = gone;
    const before = ids.filter((id) => !withdrawnBefore.has(id));
    checkWhole(
      store,
      before.filter((id) => !later.includes(id)),
    );
    expect(store.total).toBe(store.returned);
    expect(store.returned).toBe(live - later.filter((id) => !withdrawnBefore.has(id)).length);
    expect(store.listings.every(({ state, merchant }) => state === 'live' && merchant === 'store-of-many')).toBe(true);
    expect(store.listings.map(({ title }) => title)).toContain(`Changed while it was sent, ${name}`);
    for (const id of gone) withdrawnBefore.add(id);
  });
}

const withdrawnBefore = new Set<bigint>();
