import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { claim, payDirectly } from '../support/direct.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { newGoods, PRICE } from '../support/trade.ts';

// A wallet that sells at the same price on two markets can be paid once for both, because a plain transfer names no market. Sellers are
// warned about this. A separate wallet for each market prevents it, which is tested too.

const { sellerOne, buyerTwo } = WORLD_ACCOUNTS;
let world: World;
let seller: Member;
let buyer: Member;

beforeAll(async () => {
  world = await startWorld();
  seller = await world.join('the-keeper');
  buyer = await world.join('buyer-one');
});
afterAll(() => world?.stop());

it('the answer to a new listing says so, and the pages for sellers do', async () => {
  const priced = await world.ask('POST', '/api/listing', { key: seller.key, body: newGoods() });
  expect(priced.status).toBe(201);
  expect(priced.body['seller_notice']).toMatch(/one plain transfer on both.*wallet that sells on this market alone/);
  const free = await world.ask('POST', '/api/listing', { key: seller.key, body: newGoods({ price_usdc: 0 }) });
  expect(free.body['seller_notice']).toBeNull();
  for (const path of ['/', '/terms']) {
    const text = await (await fetch(`${world.url}${path}`)).text();
    expect([path, /wallet`? that sells (?:on this market|here) alone/.test(text)]).toEqual([path, true]);
  }
});

it('on one market a transfer buys once, however many listings of that wallet have its price', async () => {
  const ids: bigint[] = [];
  for (let made = 0; made < 2; made += 1) {
    const { body } = await world.ask('POST', '/api/listing', { key: seller.key, body: newGoods() });
    ids.push(BigInt(Number(body['listing_id'])));
  }
  const payer = buyerTwo;
  const [first = 0n, second = 0n] = ids;
  const paid = await payDirectly(world, { buyer, listingId: first, payer, units: PRICE });
  const other = await payDirectly(world, { buyer, listingId: second, payer, units: 1n });
  await world.finalize();
  expect((await claim(world, buyer, first, paid)).status).toBe(200);
  const again = await claim(world, buyer, second, { ...other, txHash: paid.txHash });
  expect([again.status, again.body['reason']]).toEqual([409, 'transaction_used']);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE, 1n]);
});
