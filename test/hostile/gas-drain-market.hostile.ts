import { expect, test } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { countRows } from '../support/database.ts';
import { minedBy, paymentBody, post, signPayment, startTestFacilitator } from '../support/facilitator.ts';
import { type Answer, type SignedProof, signProof } from '../support/market-world.ts';
import { type Goods, testTrade } from '../support/trade.ts';
import { submitFirst, treacherousWallet } from './treacherous-wallet.ts';

const { sellerTwo, stranger } = WORLD_ACCOUNTS;
/** New contract wallets may cause a quarter of the allowed gas loss, which one or two reverts use up. */
const FACILITATOR = {
  auth: 'Bearer what-market-and-facilitator-know',
  etherUsdc: 10,
  limits: { gas_loss_hour_units: 12_000, gas_loss_day_units: 12_000 },
  timing: { answerMs: 900, confirmationMs: 600, finalEveryMs: 100 },
};

const trade = testTrade({ facilitator: FACILITATOR });
const { world, buyer, goods, wallet } = trade;

const told = ({ status, body }: Answer): unknown[] => [status, body['reason'] ?? body['status'] ?? 'goods'];
const buy = (offer: Goods, proof: SignedProof, key?: string): Promise<Answer> =>
  world.buy(offer.id, { proof: proof.v2, ...(key === undefined ? {} : { key }) });

async function automine(on: boolean): Promise<void> {
  await world.chain.rpc.call('evm_setAutomine', [on]);
  if (on) await world.chain.mine();
}

async function pays(payer: TestAccount): Promise<unknown[]> {
  const offer = await goods();
  return told(await buy(offer, await signProof(world.chain, payer, offer.terms)));
}

/** Buys, and makes the wallet reject its signature before the block is mined. */
async function revert(payer: TestAccount, offer: Goods, lever: TestAccount): Promise<SignedProof> {
  const proof = await signProof(world.chain, payer, offer.terms);
  await automine(false);
  await buy(offer, proof);
  await submitFirst(world.chain, stranger, { to: lever.address, value: 1n });
  await automine(true);
  // Poll until the market sees the payment's end.
  await expect.poll(async () => (await stateOf(payer))['why']).not.toBeNull();
  return proof;
}

async function stateOf(payer: TestAccount): Promise<Record<string, unknown>> {
  const query = `payer=${payer.address}&payee=${sellerTwo.address}`;
  const headers = { authorization: FACILITATOR.auth };
  return (await fetch(`${world.facilitator.url}/state?${query}`, { headers })).json() as Promise<
    Record<string, unknown>
  >;
}

test('a payer that made a settlement fail is told so before there is a row, with the way out, while others buy', async () => {
  const lever = testAccount('lever of the market’s attacker');
  const attacker = await treacherousWallet(world.chain, 'market', { kind: 'untilPaid', to: lever.address });
  const first = await goods();
  const proof = await revert(attacker, first, lever);
  const sent = await minedBy(world.chain, world.facilitator.address);
  // However often the proof is sent, there is no further transaction, and no answer says that the buyer may pay again.
  for (let again = 0; again < 6; again += 1) {
    const answer = await buy(first, proof);
    expect([answer.status === 402, answer.body['do_not_pay_again']]).toEqual([false, true]);
  }
  await world.chain.rpc.call('anvil_setBalance', [lever.address, '0x0']);
  const second = await goods();
  const before = await countRows(world.db.database);
  const refused = await buy(second, await signProof(world.chain, attacker, second.terms));
  expect(told(refused)).toEqual([409, 'x402_not_offered']);
  expect(refused.body['do_not_pay_again']).toBe(false);
  expect(refused.body['next_step']).toContain('POST /api/purchase-intent/:id');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
  expect(refused.headers.get('retry-after')).toBe(String(refused.body['retry_after_seconds']));
  expect(await countRows(world.db.database)).toEqual(before);
  expect(await minedBy(world.chain, world.facilitator.address)).toBe(sent);
  const intent = await world.ask('POST', `/api/purchase-intent/${second.id}`, { key: buyer.key, body: {} });
  expect(intent.status).toBe(201);
  expect(await pays(await wallet())).toEqual([202, 'payment_pending']);
});

test('once new contract wallets have burned their share, the next is told so before there is a row; a new plain wallet buys', async () => {
  const lever = testAccount('lever of the many');
  for (let n = 0; n < 6; n += 1) {
    const attacker = await treacherousWallet(world.chain, `many ${n}`, { kind: 'untilPaid', to: lever.address });
    await world.chain.rpc.call('anvil_setBalance', [lever.address, '0x0']);
    if ((await stateOf(attacker))['may_settle'] === false) break;
    await revert(attacker, await goods({ payTo: sellerTwo.address }), lever);
  }
  await world.chain.rpc.call('anvil_setBalance', [lever.address, '0x0']);
  const next = await treacherousWallet(world.chain, 'after the many', { kind: 'untilOwnEther' });
  const offer = await goods({ payTo: sellerTwo.address });
  const before = await countRows(world.db.database);
  const refused = await buy(offer, await signProof(world.chain, next, offer.terms));
  expect(told(refused)).toEqual([409, 'x402_not_offered']);
  expect(await countRows(world.db.database)).toEqual(before);
  expect(await pays(await wallet())).toEqual([202, 'payment_pending']);
});

test('a thin wallet that another market settles at the same time is not told that it did not pay, and pays again here', async () => {
  const account = testAccount('facilitator of another market');
  await fund(world.chain, [{ address: account.address, wei: 10n ** 18n }]);
  const other = await startTestFacilitator(world.chain, { account: account.signer, timing: FACILITATOR.timing });
  try {
    const offer = await goods();
    const payer = await wallet(offer.terms.units);
    const proof = await signProof(world.chain, payer, offer.terms);
    const theirs = await signPayment(world.chain, { payer, to: sellerTwo.address, value: offer.terms.units });
    await automine(false);
    const [here] = await Promise.all([buy(offer, proof), post(`${other.url}/settle`, paymentBody(theirs))]);
    expect([here.status, here.body['do_not_pay_again']]).toEqual([503, true]);
    await automine(true);
    const answer = await buy(offer, proof);
    // By now, the buyer may be told that the wallet holds too little and that the proof is still valid.
    expect(['payment_rejected', 'facilitator_refused', 'settlement_pending']).toContain(answer.body['reason']);
    expect(answer.body['do_not_pay_again']).toBe(true);
    await fund(world.chain, [{ address: payer.address, usdcUnits: 10_000_000n }]);
    expect(await pays(payer)).toEqual([202, 'payment_pending']);
  } finally {
    await other.close();
  }
});

test('with gas for fewer than fifty settlements no buyer is asked to sign; a signed payment is settled', async () => {
  const offer = await goods();
  const payer = await wallet();
  expect(told(await world.buy(offer.id))).toEqual([402, 'payment_required']);
  const proof = await signProof(world.chain, payer, offer.terms);
  const wei = 25n * 110_000n * 2_000_000_000n;
  await world.chain.rpc.call('anvil_setBalance', [world.facilitator.address, `0x${wei.toString(16)}`]);
  await expect
    .poll(async () => told(await world.buy(offer.id)), { timeout: 20_000, interval: 500 })
    .toEqual([503, 'settlement_unavailable']);
  const refused = await world.buy(offer.id);
  expect(refused.body).toMatchObject({ do_not_pay_again: false });
  expect(refused.headers.get('retry-after')).toBe('60');
  expect(refused.headers.get('payment-required')).toBeNull();
  expect(told(await buy(offer, proof))).toEqual([202, 'payment_pending']);
  await world.chain.rpc.call('anvil_setBalance', [world.facilitator.address, `0x${(10n ** 19n).toString(16)}`]);
  await expect
    .poll(async () => (await world.buy((await goods()).id)).status, { timeout: 20_000, interval: 500 })
    .toBe(402);
});
