import sql from 'sql-template-tag';
import { beforeEach, expect, it } from 'vitest';
import { ask } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act } from '../../../test/support/listing-life.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedMerchant } from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { makeGetStore } from './get-store.ts';
import { makeListMerchants } from './list-merchants.ts';
import { setStoreLine } from './set-store-line.ts';

const db = testDatabase();
let market: TestMarket;
let caller: SeededMerchant;

beforeEach(async () => {
  market = marketContext({ database: db.database });
  caller = await seedMerchant(db.database);
});

const set = async (line: string) =>
  (await act(market, endpoints.setStoreLine, setStoreLine, { body: { line }, caller })).merchant;
const countWrites = async (): Promise<bigint> =>
  (await db.database.one<{ count: bigint }>(sql`select count(*) from catalog_changes where merchant_id = ${caller.id}`))
    .count;

it('is shown in the own record, in the store and among the merchants, and is no event', async () => {
  const other = await seedMerchant(db.database);
  const merchant = await set('Prompts that were tried');
  expect(merchant).toMatchObject({ handle: caller.handle, store_line: 'Prompts that were tried', listings: 0 });
  const store = await ask(market, endpoints.getStore, makeGetStore(market.catalog), {
    params: { handle: caller.handle },
  });
  expect(store.merchant).toEqual(merchant);
  const { merchants } = await ask(market, endpoints.listMerchants, makeListMerchants(market.catalog));
  expect(merchants).toContainEqual(merchant);
  expect(merchants.find(({ handle }) => handle === other.handle)?.store_line).toBe('');
  expect(await db.database.rows(sql`select queue_id from events`)).toEqual([]);
});

it('can be changed and taken back; the same again writes nothing', async () => {
  const before = await countWrites();
  await set('One');
  expect(await countWrites()).toBe(before + 1n);
  expect((await set('One')).store_line).toBe('One');
  expect(await countWrites()).toBe(before + 1n);
  expect((await set('Two')).store_line).toBe('Two');
  expect((await set('')).store_line).toBe('');
  expect(await countWrites()).toBe(before + 3n);
});

it('is one line of at most 160 characters without hidden ones', async () => {
  expect((await set('é'.repeat(160))).store_line).toBe('é'.repeat(160));
  const judged = (line: unknown) => endpoints.setStoreLine.body.safeParse({ line }).success;
  expect(['x'.repeat(161), 'two\nlines', 'a\tb', 'a\u202eb', 'a\u001bb', null, undefined].map(judged)).toEqual(
    Array(7).fill(false),
  );
});
