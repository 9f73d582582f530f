import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { ask } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { holdSales, takeFree, untilWaiting } from '../../../test/support/listing-life.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import type { Aisle } from '../../contract/vocabulary.ts';
import { getMe } from './get-me.ts';
import { listPurchases } from './purchase-history.ts';

const db = testDatabase();
let market: TestMarket;
let seller: SeededMerchant;
let buyer: SeededMerchant;
const goodsIn = async (aisle: Aisle): Promise<bigint> =>
  (await seedListing(db.database, seller.id, { aisle, priceUnits: 0n })).id;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  seller = await seedMerchant(db.database);
  buyer = await seedMerchant(db.database);
});

it('a sale does not wait for another of the same seller and buyer; a page waits for both, and the next sale for the page', async () => {
  const [slow, quick, next] = [await goodsIn('tools'), await goodsIn('other'), await goodsIn('other')];
  const gate = await holdSales(db.database, 'tools');
  onTestFinished(() => gate.commit());
  const first = takeFree(market, slow, buyer);
  await untilWaiting(db.database, 1);
  await takeFree(market, quick, buyer);
  const sales = ask(market, endpoints.getMe, getMe, { query: { sales_limit: '1' }, caller: seller });
  await untilWaiting(db.database, 2);
  const purchases = ask(market, endpoints.listPurchases, listPurchases, { query: { limit: '1' }, caller: buyer });
  await untilWaiting(db.database, 3);
  const third = takeFree(market, next, buyer);
  await untilWaiting(db.database, 4);
  await gate.commit();
  await Promise.all([first, third]);
  const [page, bought] = [await sales, await purchases];
  expect(page).toMatchObject({ sales_total: 2, sales: [{ listing_id: Number(quick) }] });
  expect(bought).toMatchObject({ total: 2, purchases: [{ listing_id: Number(quick) }] });
  const query = { sales_before_id: String(page.sales_next_before_id) };
  const rest = await ask(market, endpoints.getMe, getMe, { query, caller: seller });
  expect(rest).toMatchObject({ sales_total: 3, sales_has_more: false, sales: [{ listing_id: Number(slow) }] });
});
