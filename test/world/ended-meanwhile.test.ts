import sql from 'sql-template-tag';
import { afterAll, expect, it } from 'vitest';
import { paidUnits, signProof } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { removeListing, withdrawListing } from '../support/seed.ts';
import { testTrade } from '../support/trade.ts';

const rpc = await startRpcProxy();
afterAll(() => rpc.close());
const { world, buyer, goods, wallet } = testTrade({ rpcUrl: rpc.at });

/** Selector of balanceOf, the last chain read before a payment is opened. */
const BALANCE = '0x70a08231';

it.each([
  ['withdrawn', withdrawListing],
  ['removed', removeListing],
])('goods that are %s while a payment is looked at are not sold any more, and nothing is taken', async (_, end) => {
  const { id, terms } = await goods();
  const payer = await wallet();
  const proof = await signProof(world.chain, payer, terms);
  const { held, release } = rpc.holdNext(BALANCE);
  const asked = world.buy(id, { key: buyer.key, proof: proof.v2 });
  await held;
  await end(world.db.database, id);
  release();
  const answer = await asked;
  expect([answer.status, answer.body['reason'], answer.body['do_not_pay_again']]).toEqual([
    404,
    'listing_unavailable',
    false,
  ]);
  expect(await world.db.database.rows(sql`select id from payments where listing_id = ${id}`)).toEqual([]);
  expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([]);
});

it.each([
  ['withdrawn', withdrawListing],
  ['removed', removeListing],
])('for goods that are %s no payment is asked for', async (_, end) => {
  const { id, terms } = await goods();
  await end(world.db.database, id);
  const proof = await signProof(world.chain, await wallet(), terms);
  for (const asked of [{}, { key: buyer.key }, { proof: proof.v1 }, { key: buyer.key, proof: proof.v2 }]) {
    const answer = await world.buy(id, asked);
    expect([answer.status, answer.body['reason']]).toEqual([404, 'listing_unavailable']);
    expect(answer.headers.get('payment-required')).toBeNull();
  }
});

it('who shows an authorization that is out of time for ended goods is not told to pay again: its wallet may be paying', async () => {
  const { id, terms } = await goods();
  const payer = await wallet();
  const late = await signProof(world.chain, payer, { ...terms, secondsAhead: 5 });
  const paying = await world.buy(id, { key: buyer.key, proof: (await signProof(world.chain, payer, terms)).v2 });
  expect(paying.status).toBe(202);
  await withdrawListing(world.db.database, id);
  const answer = await world.buy(id, { proof: late.v1 });
  expect(answer).toMatchObject({ status: 404, body: { reason: 'listing_unavailable', do_not_pay_again: true } });
});
