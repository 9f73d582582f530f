import { afterAll, beforeAll, expect, it } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/fund.ts';
import { BASE_URL, type Member, paidUnits, signProof, startWorld, type World } from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';

// A facilitator that takes a request and never answers: the eight seconds of the deadline pass for real.
const PRICE = 2_500_000n;
const { sellerOne } = WORLD_ACCOUNTS;

let world: World;
let seller: Member;
let buyer: Member;
let made = 0;
const facilitator = await startScriptedFacilitator();

beforeAll(async () => {
  // The background pass of a running market, at its own pace.
  world = await startWorld({ facilitatorUrl: facilitator.url, reconcileEveryMs: 200 });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterAll(async () => {
  await world?.stop();
  await facilitator.close();
});

async function purchase() {
  made += 1;
  const payer = testAccount(`silent payer ${made}`);
  await fund(world.chain, [{ address: payer.address, usdcUnits: 4n * PRICE }]);
  const artifact = `goods ${made}`;
  const { id } = await seedListing(world.db.database, seller.id, {
    wallet: sellerOne.address,
    priceUnits: PRICE,
    artifact,
  });
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` };
  return { id, artifact, payer, proof: await signProof(world.chain, payer, terms) };
}

it('that settles and never answers leads to an answer in time, and then, by itself, to the goods', async () => {
  facilitator.script({ verify: 'forward', settle: 'forward_then_hang', to: world.facilitator.url });
  const { id, artifact, payer, proof } = await purchase();
  const answer = await world.buy(id, { key: buyer.key, proof: proof.v2 });
  expect([202, 503]).toContain(answer.status);
  expect(answer.body['do_not_pay_again']).toBe(true);
  await world.finalize();
  const { from, nonce } = proof.authorization;
  const status = async () => (await world.ask('GET', `/api/payment?payer=${from}&nonce=${nonce}`)).body['payment'];
  await expect.poll(status, { timeout: 20_000 }).toMatchObject({ payment_status: 'completed', stage: 'delivered' });
  const delivered = await world.buy(id, { key: buyer.key });
  expect([delivered.status, delivered.body['artifact']]).toEqual([200, artifact]);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
});

it('that never answers verify leads to 503 and the same proof, and nothing was submitted', async () => {
  facilitator.script({ verify: 'hang', settle: 'hang' });
  const { id, payer, proof } = await purchase();
  const answer = await world.buy(id, { key: buyer.key, proof: proof.v1 });
  expect([answer.status, answer.body['reason'], answer.body['do_not_pay_again']]).toEqual([
    503,
    'verification_pending',
    true,
  ]);
  expect(answer.body['retry']).toBe('same_proof');
  expect(facilitator.calls.settle).toBe(1);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([]);
});
