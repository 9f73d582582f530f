import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { reorg, settleData, startTestChain } from '../../test/support/chain.ts';
import {
  minedBy,
  paymentBody,
  post,
  signPayment,
  startTestFacilitator,
  type TestFacilitator,
  usesOf,
} from '../../test/support/facilitator.ts';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { submit } from '../local/chain/transactions.ts';
import { systemClock } from '../platform/clock.ts';

const { buyerOne, stranger } = WORLD_ACCOUNTS;
const BRIEF = { answerMs: 900, confirmationMs: 700 };

let chain: LocalChain;
let facilitator: TestFacilitator;

beforeAll(async () => {
  chain = await startTestChain();
  facilitator = await startTestFacilitator(chain);
});

afterEach(() => automine(true));

afterAll(async () => {
  await facilitator?.close();
  await chain?.kill();
});

async function automine(on: boolean): Promise<void> {
  await chain.rpc.call('evm_setAutomine', [on]);
  if (on) await chain.mine();
}

const settle = (body: unknown, at = facilitator) => post(`${at.url}/settle`, body);

async function until<T>(read: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read();
    if (wanted(value)) return value;
    await systemClock.sleep(20);
  }
}

test('while no block comes the answer is settlement_pending with the hash, within 6 seconds; once mined, success with that hash', async () => {
  await automine(false);
  const minedBefore = await minedBy(chain, facilitator.address);
  const payment = await signPayment(chain);
  const answers = await Promise.all([1, 2].map((version) => settle(paymentBody(payment, version as 1 | 2))));
  const [first] = answers;
  const hash = first?.body['transaction'];
  for (const { status, body, ms } of answers) {
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: hash });
    expect(body['payer']).toBe(buyerOne.address);
    expect(ms).toBeLessThan(6_000);
  }
  expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
  await automine(true);
  expect((await settle(paymentBody(payment))).body).toMatchObject({ success: true, transaction: hash });
  expect(await usesOf(chain, buyerOne.address, payment.authorization.nonce)).toEqual([hash]);
  expect(await minedBy(chain, facilitator.address)).toBe(minedBefore + 1);
});

test('a payment that is mined in time and asked for again after its end is a success', async () => {
  await facilitator.close();
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  await automine(false);
  const validBefore = BigInt(Math.floor(systemClock.now() / 1000) + 7);
  const payment = await signPayment(chain, { validBefore });
  const { body } = await settle(paymentBody(payment));
  expect(body).toMatchObject({ errorReason: 'settlement_pending' });
  // The transaction is mined before the authorization expires. The next request comes after the expiry.
  await chain.mine();
  await until(
    async () => systemClock.now() / 1000,
    (now) => now > Number(validBefore),
  );
  const answer = await settle(paymentBody(payment));
  expect(answer.body).toMatchObject({ success: true, transaction: body['transaction'] });
});

test('what waits in the queue is pending without a hash, and is broadcast later all the same', async () => {
  const slow = await startTestFacilitator(chain, {
    // One millisecond is too short to sign anything.
    timing: { answerMs: 1, confirmationMs: 5_000 },
  });
  try {
    const payment = await signPayment(chain);
    const answer = await settle(paymentBody(payment), slow);
    expect(answer.body).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: '' });
    expect(answer.body['errorMessage']).toContain('Waiting for its turn');
    await until(
      () => usesOf(chain, buyerOne.address, payment.authorization.nonce),
      (uses) => uses.length === 1,
    );
  } finally {
    await slow.close();
  }
});

test('a transaction that the node has lost is broadcast again, the same one', async () => {
  const brief = await startTestFacilitator(chain, { timing: BRIEF });
  try {
    await automine(false);
    const payment = await signPayment(chain);
    const hash = (await settle(paymentBody(payment), brief)).body['transaction'];
    await chain.rpc.call('anvil_dropTransaction', [hash]);
    await brief.logged('settlement_broadcast_again');
    await automine(true);
    expect((await settle(paymentBody(payment), brief)).body).toMatchObject({ success: true, transaction: hash });
  } finally {
    await brief.close();
  }
});

test('a settled payment that a reorg takes away is broadcast again when it is asked for, the same transaction', async () => {
  const brief = await startTestFacilitator(chain, { timing: BRIEF });
  try {
    const payment = await signPayment(chain);
    const hash = (await settle(paymentBody(payment), brief)).body['transaction'];
    await reorg(chain, 1);
    expect(await usesOf(chain, buyerOne.address, payment.authorization.nonce)).toEqual([]);
    const answer = await until(
      () => settle(paymentBody(payment), brief),
      ({ body }) => body['success'] === true,
    );
    expect(answer.body['transaction']).toBe(hash);
    expect(await usesOf(chain, buyerOne.address, payment.authorization.nonce)).toEqual([hash]);
  } finally {
    await brief.close();
  }
});

test('when a stranger is faster with the same block, the answer is success with the hash of the stranger', async () => {
  const brief = await startTestFacilitator(chain, { timing: BRIEF });
  try {
    await automine(false);
    const payment = await signPayment(chain);
    const own = (await settle(paymentBody(payment), brief)).body['transaction'];
    // The stranger's transaction bids more, so it comes first in the block.
    const data = settleData(payment.authorization, payment.signature);
    const theirs = await submit(chain, stranger, { to: USDC_ADDRESS, data });
    await automine(true);
    const answer = await settle(paymentBody(payment), brief);
    expect(own).not.toBe(theirs);
    expect(answer.body).toMatchObject({ success: true, transaction: theirs });
  } finally {
    await brief.close();
  }
});

test('an unreachable node makes the answers 503 and refuses nothing; the same payment is settled when it is back', async () => {
  const payment = await signPayment(chain);
  process.kill(chain.pid, 'SIGSTOP');
  const [verified, settled, ready] = await Promise.all([
    post(`${facilitator.url}/verify`, paymentBody(payment)),
    settle(paymentBody(payment)),
    fetch(`${facilitator.url}/readyz`),
  ]).finally(() => process.kill(chain.pid, 'SIGCONT'));
  expect(verified).toMatchObject({ status: 503, body: { isValid: false, invalidReason: 'unexpected_verify_error' } });
  expect(settled.body).toMatchObject({ success: false, transaction: '' });
  expect(['unexpected_settle_error', 'settlement_pending']).toContain(settled.body['errorReason']);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ ready: false, chain: 'unreachable' });
  expect((await settle(paymentBody(payment))).body).toMatchObject({ success: true });
});
