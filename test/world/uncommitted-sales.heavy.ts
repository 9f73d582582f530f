import { describe, expect, it, onTestFinished } from 'vitest';
import type { Aisle } from '../../src/contract/vocabulary.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { holdSales, untilWaiting } from '../support/listing-life.ts';
import { type Member, signProof, type World } from '../support/market-world.ts';
import { testTrade } from '../support/trade.ts';
import { thingTrade } from './thing-trade.ts';

/** Checks that both pages wait for a sale that has an id but is not committed, and then show it. */
async function mustKeepPagesWaiting(
  { world, seller, buyer }: { world: World; seller: Member; buyer: Member },
  { aisle, listingId }: { aisle: Aisle; listingId: bigint },
  sell: () => Promise<unknown>,
): Promise<void> {
  const gate = await holdSales(world.db.database, aisle);
  onTestFinished(() => gate.commit());
  const sale = sell();
  await untilWaiting(world.db.database, 1);
  const me = world.ask('GET', '/api/me', { key: seller.key });
  const bought = world.ask('GET', '/api/purchases', { key: buyer.key });
  await untilWaiting(world.db.database, 3);
  await gate.commit();
  const row = { listing_id: Number(listingId) };
  expect((await me).body).toMatchObject({ sales_total: 1, sales: [row] });
  expect((await bought).body).toMatchObject({ total: 1, purchases: [row] });
  await sale;
}

describe('a sale for money', () => {
  const trade = testTrade();
  it('keeps the pages of seller and buyer waiting until its commit', async () => {
    const { world, buyer } = trade;
    const { id, terms } = await trade.goods();
    const proof = await signProof(world.chain, WORLD_ACCOUNTS.buyerOne, terms);
    await world.buy(id, { key: buyer.key, proof: proof.v2 });
    await world.finalize();
    await mustKeepPagesWaiting(trade, { aisle: 'other', listingId: id }, () => world.buy(id, { key: buyer.key }));
  });
});

describe('the sale of a thing', async () => {
  const trade = await thingTrade();
  it('keeps the pages of seller and buyer waiting until its commit', async () => {
    const lamp = await trade.thing();
    await trade.bought(lamp);
    await trade.world.finalize();
    await mustKeepPagesWaiting(trade, { aisle: 'world', listingId: lamp.id }, () => trade.sync(lamp));
  });
});
