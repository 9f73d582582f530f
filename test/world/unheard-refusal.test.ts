import { afterAll, expect, it } from 'vitest';
import { paidUnits, signProof } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { PRICE, scriptedTrade } from '../support/trade.ts';

const rpc = await startRpcProxy();
afterAll(() => rpc.close());
const { facilitator, forward, world, buyer, goods, wallet } = await scriptedTrade({ rpcUrl: rpc.at });

it('a facilitator that says no while the chain cannot be read is not believed: the same proof pays later', async () => {
  facilitator.script({ verify: 'invalid', settle: 'garbage' });
  const { id, terms } = await goods();
  const payer = await wallet();
  const proof = await signProof(world.chain, payer, terms);
  facilitator.before('verify', async () => rpc.silence(true));
  const refused = await world.buy(id, { key: buyer.key, proof: proof.v2 });
  rpc.heal();
  expect([refused.status, refused.body['reason'], refused.body['do_not_pay_again']]).toEqual([
    503,
    'facilitator_refused',
    true,
  ]);
  forward();
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
  expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([PRICE]);
});
