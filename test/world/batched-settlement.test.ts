import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { send } from '../../src/local/chain/send-transaction.ts';
import { USDC_ADDRESS } from '../../src/local/chain/usdc-contract.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { settleData } from '../support/chain.ts';
import { fundedWallet } from '../support/list-goods.ts';
import {
  BASE_URL,
  type Member,
  paidUnits,
  type SignedProof,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';

const { sellerOne, stranger } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const facilitator = await startScriptedFacilitator();
let world: World;
let seller: Member;

beforeAll(async () => {
  world = await startWorld({ facilitatorUrl: facilitator.url });
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(async () => {
  await world?.stop();
  await facilitator.close();
});

/** Code of a transaction without a recipient that makes these calls to the token: copy each from the code, then CALL. */
function batchCode(calls: readonly Hex[]): Hex {
  const datas = calls.map((call) => call.slice(2));
  const word = (value: number): string => value.toString(16).padStart(4, '0');
  let offset = 44 * datas.length + 1;
  let code = '';
  for (const data of datas) {
    const length = word(data.length / 2);
    code += `61${length}61${word(offset)}600039`;
    code += `6000600061${length}6000600073${USDC_ADDRESS.slice(2)}5af150`;
    offset += data.length / 2;
  }
  return `0x${code}00${datas.join('')}`;
}

async function openPurchase(buyer: Member) {
  const given = { wallet: sellerOne.address, priceUnits: PRICE, artifact: `batched goods of ${buyer.handle}` };
  const { id } = await seedListing(world.db.database, seller.id, given);
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` };
  const payer = await fundedWallet(world);
  const proof = await signProof(world.chain, payer, terms);
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(503);
  return { id, terms, payer, proof, buyer };
}

async function statusOf({ authorization }: SignedProof): Promise<unknown> {
  const { from, nonce } = authorization;
  const answer = await world.ask('GET', `/api/payment?payer=${from}&nonce=${nonce}`);
  return (answer.body['payment'] as Record<string, unknown>)['payment_status'];
}

it('of two payments in one transaction one is completed, the other is for review, and neither is asked to pay again', async () => {
  const one = await openPurchase(await world.join('buyer-one'));
  const two = await openPurchase(await world.join('buyer-two'));
  const calls = [one, two].map(({ proof }) => settleData(proof.authorization, proof.signature));
  expect((await send(world.chain, stranger, { data: batchCode(calls) })).status).toBe('success');
  await world.finalize();
  await world.running.payments.reconcileOnce();
  expect([await statusOf(one.proof), await statusOf(two.proof)].sort()).toEqual(['completed', 'needs_review']);
  const [winner, loser] = (await statusOf(one.proof)) === 'completed' ? [one, two] : [two, one];
  expect((await world.buy(winner.id, { key: winner.buyer.key })).status).toBe(200);
  const fresh = await signProof(world.chain, loser.payer, loser.terms);
  const key = loser.buyer.key;
  const ways = [
    { key },
    { key, proof: fresh.v2 },
    { proof: fresh.v1 },
    { proof: loser.proof.v1 },
    { key, body: { collect: true } },
  ];
  for (const way of ways) {
    const { status, body } = await world.buy(loser.id, way);
    expect([status, body['reason'], body['do_not_pay_again']]).toEqual([422, 'needs_review', true]);
  }
  expect(await paidUnits(world.chain, loser.payer.address, sellerOne.address)).toEqual([PRICE]);
});
