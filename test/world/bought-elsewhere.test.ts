import { expect, it } from 'vitest';
import { claim, payDirectly } from '../support/direct.ts';
import { signProof } from '../support/market-world.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';

const { world, buyer, goods, wallet } = testTrade();

it('a transfer from another wallet for goods that this merchant bought meanwhile is for the seller to give back', async () => {
  const { id, artifact, terms } = await goods();
  const payer = await wallet(PRICE, GAS_WEI);
  const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE });
  const proof = await signProof(world.chain, await wallet(), terms);
  await world.buy(id, { key: buyer.key, proof: proof.v2 });
  await world.finalize();
  expect(await world.buy(id, { key: buyer.key })).toMatchObject({ status: 200, body: { artifact } });
  expect(await claim(world, buyer, id, paid)).toMatchObject({
    status: 422,
    body: { reason: 'already_bought', payment_status: 'needs_review', do_not_pay_again: true },
  });
});
