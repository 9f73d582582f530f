import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { FacilitatorOptions } from '../../src/facilitator/create-facilitator.ts';
import { type TestAccount, testAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { readBalance } from '../../src/platform/chain/usdc.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { settleData, startTestChain, usdcAdmin } from '../support/chain.ts';
import {
  type Answer,
  minedBy,
  paymentBody,
  post,
  type SignedPayment,
  signPayment,
  startTestFacilitator,
  type TestFacilitator,
  temporaryFolder,
  usesOf,
} from '../support/facilitator.ts';
import { submitFirst, treacherousWallet } from './treacherous-wallet.ts';

const { buyerOne, buyerTwo, buyerThree, sellerOne, sellerTwo, stranger } = WORLD_ACCOUNTS;
/** Ether price in USDC at which a settlement costs about a tenth of a cent, as on the real network. */
const ETHER_USDC = 10;
const BRIEF = { answerMs: 900, confirmationMs: 600, finalEveryMs: 100 };

let chain: LocalChain;
const running: TestFacilitator[] = [];

beforeAll(async () => {
  chain = await startTestChain();
});

afterEach(async () => {
  await automine(true);
  for (const facilitator of running.splice(0)) await facilitator.close();
});

afterAll(() => chain?.kill());

async function automine(on: boolean): Promise<void> {
  await chain.rpc.call('evm_setAutomine', [on]);
  if (on) await chain.mine();
}

let accounts = 0;

/** Starts a facilitator with a new account, so that its costs start at zero. */
async function facilitatorWith(options: Partial<FacilitatorOptions> = {}): Promise<TestFacilitator> {
  accounts += 1;
  const account = testAccount(`facilitator under attack ${accounts}`);
  await fund(chain, [{ address: account.address, wei: 10n ** 18n }]);
  const started = await startTestFacilitator(chain, {
    account: account.signer,
    etherUsdc: ETHER_USDC,
    timing: BRIEF,
    ...options,
  });
  running.push(started);
  return started;
}

async function paidUnits(facilitator: TestFacilitator): Promise<bigint> {
  const left = BigInt(String(await chain.rpc.call('eth_getBalance', [facilitator.address, 'latest'])));
  return ((10n ** 18n - left) * BigInt(ETHER_USDC) * 1_000_000n) / 10n ** 18n;
}

const settle = (facilitator: TestFacilitator, payment: SignedPayment): Promise<Answer> =>
  post(`${facilitator.url}/settle`, paymentBody(payment));

const pays = async (facilitator: TestFacilitator, payer: TestAccount): Promise<unknown> =>
  (await settle(facilitator, await signPayment(chain, { payer }))).body['success'];

async function stateOf(facilitator: TestFacilitator, payer: TestAccount): Promise<Record<string, unknown>> {
  const query = `payer=${payer.address}&payee=${sellerOne.address}`;
  return (await fetch(`${facilitator.url}/state?${query}`)).json() as Promise<Record<string, unknown>>;
}

async function setEther(address: Hex, wei: bigint): Promise<void> {
  await chain.rpc.call('anvil_setBalance', [address, `0x${wei.toString(16)}`]);
}

/** Polls until the payment is no longer pending. */
async function waitForEnd(facilitator: TestFacilitator, payment: SignedPayment): Promise<Record<string, unknown>> {
  let body: Record<string, unknown> = {};
  await expect
    .poll(
      async () => {
        body = (await settle(facilitator, payment)).body;
        return body['errorReason'];
      },
      { timeout: 10_000 },
    )
    .not.toBe('settlement_pending');
  return body;
}

test('a wallet that says yes while it sees no gas price is shown one, and costs nothing at all', async () => {
  const facilitator = await facilitatorWith();
  const wallet = await treacherousWallet(chain, 'unpriced', { kind: 'unpriced' });
  const payment = await signPayment(chain, { payer: wallet });
  const honest = [buyerOne, buyerTwo, buyerThree].map((buyer) => pays(facilitator, buyer));
  const answers = await Promise.all(Array.from({ length: 12 }, () => settle(facilitator, payment)));
  expect(answers.map(({ body }) => body['success'])).toEqual(answers.map(() => false));
  expect(await Promise.all(honest)).toEqual([true, true, true]);
  expect(await minedBy(chain, facilitator.address)).toBe(3);
});

test('a wallet that turns between rehearsal and block: twelve requests with one proof are one transaction, and its payer rests', async () => {
  const facilitator = await facilitatorWith();
  const lever = testAccount('lever of the turning wallet').address;
  const wallet = await treacherousWallet(chain, 'turning', { kind: 'untilPaid', to: lever });
  const payment = await signPayment(chain, { payer: wallet });
  const answers: Record<string, unknown>[] = [];
  for (let round = 0; round < 12; round += 1) {
    // The wallet accepts signatures again while nothing is mined.
    await setEther(lever, 0n);
    await automine(false);
    const asked = settle(facilitator, payment);
    if (round === 0) expect((await asked).body).toMatchObject({ errorReason: 'settlement_pending' });
    await asked;
    await submitFirst(chain, stranger, { to: lever, value: 1n });
    await automine(true);
    answers.push(await waitForEnd(facilitator, payment));
  }
  const [first] = answers;
  expect(first).toMatchObject({ success: false, errorReason: 'invalid_exact_evm_transaction_failed' });
  expect(first?.['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
  expect(answers).toEqual(answers.map(() => first));
  expect(await minedBy(chain, facilitator.address)).toBe(1);
  await setEther(lever, 0n);
  const next = await settle(facilitator, await signPayment(chain, { payer: wallet }));
  expect([next.status, next.body['errorReason']]).toEqual([503, 'payer_resting']);
  expect(await stateOf(facilitator, wallet)).toMatchObject({ may_settle: false, why: 'payer_resting' });
  expect(await pays(facilitator, buyerOne)).toBe(true);
  expect(await minedBy(chain, facilitator.address)).toBe(2);
});

test('one transaction that kills everything in flight costs no more than the pool of new contract wallets, also over restarts', async () => {
  // New contract wallets may use a quarter of this, which pays two or three settlements at this price.
  const limits = { gas_loss_hour_units: 16_000, gas_loss_day_units: 16_000 };
  const account = testAccount('facilitator that restarts');
  await fund(chain, [{ address: account.address, wei: 10n ** 18n }]);
  const dataDir = await temporaryFolder();
  let facilitator = await facilitatorWith({ limits, account: account.signer, dataDir });
  // The block is final at once, so the wallet counts as known from here on.
  expect(await pays(facilitator, buyerOne)).toBe(true);
  const lever = testAccount('lever of them all').address;
  const attack = async (round: number): Promise<Answer[]> => {
    await setEther(lever, 0n);
    const names = Array.from({ length: 8 }, (_, n) => `of ${round}, number ${n}`);
    const wallets: TestAccount[] = [];
    for (const name of names) wallets.push(await treacherousWallet(chain, name, { kind: 'untilPaid', to: lever }));
    const payments = await Promise.all(wallets.map((payer) => signPayment(chain, { payer, to: sellerTwo.address })));
    await automine(false);
    const answers = await Promise.all(payments.map((payment) => settle(facilitator, payment)));
    await submitFirst(chain, stranger, { to: lever, value: 1n });
    await automine(true);
    for (const payment of payments) await waitForEnd(facilitator, payment);
    return answers;
  };
  const first = await attack(1);
  const sent = first.filter(({ body }) => body['errorReason'] === 'settlement_pending');
  expect(sent.length).toBeGreaterThan(0);
  expect(sent.length).toBeLessThan(8);
  const others = first.filter((answer) => !sent.includes(answer));
  expect(others.map(({ status, body }) => [status, body['errorReason']])).toEqual(
    others.map(() => [503, 'gas_budget_spent']),
  );
  await attack(2);
  await facilitator.close();
  running.splice(running.indexOf(facilitator), 1);
  facilitator = await facilitatorWith({ limits, account: account.signer, dataDir });
  const last = await attack(3);
  expect(last.map(({ body }) => body['errorReason'])).toEqual(last.map(() => 'gas_budget_spent'));
  expect(await paidUnits(facilitator)).toBeLessThan(4_000n + 3_000n);
  // New payers without code are not limited, and known payers are not either.
  expect([await pays(facilitator, buyerTwo), await pays(facilitator, buyerOne)]).toEqual([true, true]);
  await facilitator.close();
  running.splice(running.indexOf(facilitator), 1);
  await rm(dataDir, { recursive: true, force: true });
});

test('wallets of one product do not answer for one of them: with the same code as an attacker they go on paying', async () => {
  const facilitator = await facilitatorWith();
  const product: TestAccount[] = [];
  for (let n = 0; n < 6; n += 1)
    product.push(await treacherousWallet(chain, `product ${n}`, { kind: 'untilOwnEther' }));
  const [attacker = buyerOne, ...honest] = product;
  const payment = await signPayment(chain, { payer: attacker });
  await automine(false);
  await settle(facilitator, payment);
  await submitFirst(chain, stranger, { to: attacker.address, value: 1n });
  await automine(true);
  expect(await waitForEnd(facilitator, payment)).toMatchObject({ success: false });
  expect(await Promise.all(honest.map((payer) => pays(facilitator, payer)))).toEqual(honest.map(() => true));
  const states = await Promise.all(honest.map((payer) => stateOf(facilitator, payer)));
  expect(states.map(({ may_settle }) => may_settle)).toEqual(honest.map(() => true));
  await setEther(attacker.address, 0n);
  const again = await settle(facilitator, await signPayment(chain, { payer: attacker }));
  expect(again.body['errorReason']).toBe('payer_resting');
});

test('whose authorization a third party submits has paid, and does not rest', async () => {
  const facilitator = await facilitatorWith();
  const payer = testAccount('payer whose proof was seen');
  await fund(chain, [{ address: payer.address, usdcUnits: 3_000_000n }]);
  await automine(false);
  const payment = await signPayment(chain, { payer });
  expect((await settle(facilitator, payment)).body).toMatchObject({ errorReason: 'settlement_pending' });
  const data = settleData(payment.authorization, payment.signature);
  const theirs = await submitFirst(chain, stranger, { to: USDC_ADDRESS, data });
  await automine(true);
  expect(await waitForEnd(facilitator, payment)).toMatchObject({ success: true, transaction: theirs });
  expect(await minedBy(chain, facilitator.address)).toBe(1);
  expect(await stateOf(facilitator, payer)).toMatchObject({ may_settle: true });
  expect(await pays(facilitator, payer)).toBe(true);
  expect(await usesOf(chain, payer.address)).toHaveLength(2);
});

test('two facilitators that settle one thin wallet at once: one is paid, and the payer rests with neither', async () => {
  const [one, two] = [await facilitatorWith(), await facilitatorWith()];
  const payer = testAccount('thin wallet');
  await fund(chain, [{ address: payer.address, usdcUnits: 1_000_000n }]);
  await automine(false);
  const here = await signPayment(chain, { payer });
  const there = await signPayment(chain, { payer, to: sellerTwo.address });
  await Promise.all([settle(one, here), settle(two, there)]);
  await automine(true);
  const answers = [await waitForEnd(one, here), await waitForEnd(two, there)];
  expect(answers.map(({ success }) => success).sort()).toEqual([false, true]);
  expect(answers.every(({ transaction }) => /^0x[0-9a-f]{64}$/.test(String(transaction)))).toBe(true);
  await usdcAdmin(chain).mint(payer.address, 2_000_000n);
  expect([await pays(one, payer), await pays(two, payer)]).toEqual([true, true]);
});

test('a payer whose money went elsewhere has one settlement in flight again, however much it holds', async () => {
  const facilitator = await facilitatorWith();
  const payer = testAccount('payer that moves its money');
  await fund(chain, [{ address: payer.address, usdcUnits: 10_000_000n, wei: 10n ** 18n }]);
  expect(await pays(facilitator, payer)).toBe(true);
  const round = async (): Promise<number> => {
    const before = await minedBy(chain, facilitator.address);
    await automine(false);
    const payments = await Promise.all(Array.from({ length: 6 }, () => signPayment(chain, { payer })));
    await Promise.all(payments.map((payment) => settle(facilitator, payment)));
    const balance = await usdcBalance(payer.address);
    await submitTransfer(payer, balance);
    await automine(true);
    await Promise.all(payments.map((payment) => waitForEnd(facilitator, payment)));
    await usdcAdmin(chain).mint(payer.address, 10_000_000n);
    return (await minedBy(chain, facilitator.address)) - before;
  };
  expect(await round()).toBe(6);
  expect(await round()).toBe(1);
  expect(await stateOf(facilitator, payer)).toMatchObject({ may_settle: true });
});

async function usdcBalance(address: Hex): Promise<bigint> {
  return readBalance(chain.rpc, USDC_ADDRESS, address);
}

/** Submits a transfer that waits for the next block. */
async function submitTransfer(payer: TestAccount, units: bigint): Promise<void> {
  const word = (value: string): string => value.padStart(64, '0');
  const data: Hex = `0xa9059cbb${word(stranger.address.slice(2))}${word(units.toString(16))}`;
  await submitFirst(chain, payer, { to: USDC_ADDRESS, data });
}

test('without what callers have to send nothing is verified, settled or told, and no line of the log has it', async () => {
  const auth = 'Bearer of-the-operators-word';
  const facilitator = await facilitatorWith({ auth });
  const body = JSON.stringify(paymentBody(await signPayment(chain)));
  const ask = async (path: string, headers: Record<string, string>): Promise<number> => {
    const sent = path === '/state' ? {} : { method: 'POST', body };
    const all = { 'content-type': 'application/json', ...headers };
    return (await fetch(`${facilitator.url}${path}`, { ...sent, headers: all })).status;
  };
  for (const path of ['/verify', '/settle', '/state']) {
    for (const authorization of [null, '', auth.slice(0, -1), `${auth}x`, 'Bearer']) {
      expect(await ask(path, authorization === null ? {} : { authorization })).toBe(401);
    }
  }
  expect(await minedBy(chain, facilitator.address)).toBe(0);
  for (const path of ['/supported', '/healthz', '/readyz']) {
    expect((await fetch(`${facilitator.url}${path}`)).status).toBe(200);
  }
  expect(await ask('/state', { authorization: auth })).toBe(200);
  expect(await ask('/settle', { authorization: auth })).toBe(200);
  expect(await minedBy(chain, facilitator.address)).toBe(1);
  expect(JSON.stringify(facilitator.lines)).not.toContain('operators-word');
});
