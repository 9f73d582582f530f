import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, reasonOf } from '../../../../test/support/ask.ts';
import { startTestChain, usdcAdmin } from '../../../../test/support/chain.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import { seedFee, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { endpoints } from '../../../contract/index.ts';
import type { LocalChain } from '../../../local/chain/start-chain.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Market } from '../../context.ts';
import { getTreasury } from './get-treasury.ts';

const db = testDatabase();
const START_MS = Date.UTC(2026, 0, 6);
const TREASURY = '0x00000000000000000000000000000000000f00d1';
let chain: LocalChain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.kill());

function marketOn(database: Database, clock = settableClock(START_MS)): Market {
  const market = marketContext({ database, clock, changes: { rpc: { ...chain.rpc } } });
  return { ...market, config: { ...market.config, treasury: TREASURY } };
}
const read = (market: Market, query: { limit?: string; before_id?: string } = {}) =>
  ask(market, endpoints.getTreasury, getTreasury, { query });

it('shows empty books before the first fee', async () => {
  expect(await read(marketOn(db.database))).toMatchObject({
    network: 'base',
    recent_fees: [],
    fees_count: 0,
    fees_returned: 0,
    fees_page_size: 50,
    fees_has_more: false,
    fees_next_before_id: null,
    fees_collected_usdc: 0,
    usdc_balance_onchain: 0,
  });
});

it('walks the fees newest first, each with the listing that spent it, and sums them', async () => {
  const merchant = await seedMerchant(db.database, { handle: 'payer' });
  for (let count = 0; count < 5; count += 1) await seedFee(db.database, merchant.id);
  const listing = await seedListing(db.database, merchant.id, { feeId: 4n });
  const page = await read(marketOn(db.database), { limit: '2' });
  expect(page).toMatchObject({
    fees_count: 5,
    fees_returned: 2,
    fees_page_size: 2,
    fees_has_more: true,
    fees_next_before_id: 4,
    fees_collected_usdc: 5,
  });
  expect(page.recent_fees).toEqual([
    expect.objectContaining({ id: 5, listing_id: null, merchant: 'payer', amount_usdc: 1, verified_via: 'x402' }),
    expect.objectContaining({ id: 4, listing_id: Number(listing.id) }),
  ]);
  const rest = await read(marketOn(db.database), { limit: '3', before_id: '4' });
  expect(rest.recent_fees.map(({ id }) => id)).toEqual([3, 2, 1]);
  expect(rest).toMatchObject({
    fees_count: 5,
    fees_collected_usdc: 5,
    fees_has_more: false,
    fees_next_before_id: null,
  });
  expect(await reasonOf(read(marketOn(db.database), { before_id: '6' }))).toBe('cursor_invalid');
});

it('reads the balance from the chain, keeps it for some seconds, and shows null when the chain does not answer', async () => {
  const clock = settableClock(START_MS);
  const market = marketOn(db.database, clock);
  await usdcAdmin(chain).mint(TREASURY, 7_000_001n);
  expect(await read(market)).toMatchObject({ usdc_balance_onchain: 7.000001 });
  await usdcAdmin(chain).mint(TREASURY, 1_000_000n);
  clock.set(START_MS + 10_000);
  expect(await read(market)).toMatchObject({ usdc_balance_onchain: 7.000001 });
  clock.set(START_MS + 16_000);
  expect(await read(market)).toMatchObject({ usdc_balance_onchain: 8.000001 });
  const { rpc: deaf } = marketContext({ database: db.database });
  expect(await read({ ...market, rpc: deaf })).toMatchObject({ usdc_balance_onchain: null, fees_count: 5 });
});
