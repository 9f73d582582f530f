import { afterAll, expect, it } from 'vitest';
import { type Answer, signProof } from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { testTrade } from '../support/trade.ts';

// The listing is edited between opening a payment and submitting it.

const facilitator = await startScriptedFacilitator();
afterAll(() => facilitator.close());
const { world, seller, goods, wallet } = testTrade({ facilitatorUrl: facilitator.url });

const edit = (id: bigint, preview: string): Promise<Answer> =>
  world.ask('PATCH', `/api/listing/${id}`, { key: seller.key, body: { preview } });

it('the attempt is neither verified nor settled again, and says when to come back', async () => {
  facilitator.script({ verify: 'invalid', settle: 'garbage' });
  const { id, terms } = await goods();
  const proof = await signProof(world.chain, await wallet(), terms);
  expect((await world.buy(id, { proof: proof.v2 })).status).toBe(503);
  expect((await edit(id, 'a new preview')).status).toBe(200);
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  const before = { ...facilitator.calls };
  const { status, body, headers } = await world.buy(id, { proof: proof.v2 });
  expect([status, body['reason'], body['do_not_pay_again']]).toEqual([409, 'listing_changed', true]);
  const left = Number(proof.authorization.validBefore) - Date.now() / 1000;
  expect(Math.abs(Number(headers.get('retry-after')) - left)).toBeLessThan(10);
  expect(facilitator.calls).toEqual(before);
});

it('while verify is asked: the yes that comes back submits nothing', async () => {
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  const { id, terms } = await goods();
  const proof = await signProof(world.chain, await wallet(), terms);
  const settles = facilitator.calls.settle;
  facilitator.before('verify', async () => {
    expect((await edit(id, 'changed while it was verified')).status).toBe(200);
  });
  const answer = await world.buy(id, { proof: proof.v2 });
  expect([answer.status, answer.body['reason']]).toEqual([409, 'listing_changed']);
  expect(facilitator.calls.settle).toBe(settles);
});
