/** The operator uses the account while settlements are in flight. A settlement that loses its nonce is sent again and pays only once. */
import { rm } from 'node:fs/promises';
import { encodeFunctionData } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { rawTransaction, reorg, startTestChain, usdcAdmin } from '../../test/support/chain.ts';
import {
  facilitatorEnvironment,
  minedBy,
  paymentBody,
  post,
  runFacilitatorUntilKilled,
  type SignedPayment,
  signPayment,
  startFacilitatorProcess,
  startTestFacilitator,
  type TestFacilitator,
  takeEtherOut,
  temporaryFolder,
  usesOf,
} from '../../test/support/facilitator.ts';
import { eachCall, idOf, startRpcServer } from '../../test/support/rpc-server.ts';
import {
  type TestAccount,
  testAccount,
  USDC_ADDRESS,
  USDC_ROLES,
  usdcWriteAbi,
  WORLD_ACCOUNTS,
} from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { fund, submit } from '../local/chain/transactions.ts';
import { systemClock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import { settleData } from './outcomes.ts';

const { facilitator: signer, stranger } = WORLD_ACCOUNTS;
const BRIEF = { answerMs: 900, confirmationMs: 700 };
const WAITED = { timeout: 30_000, interval: 50 };

let chain: LocalChain;
let facilitator: TestFacilitator;

beforeAll(async () => {
  chain = await startTestChain();
});

afterEach(async () => {
  await automine(true);
  await facilitator?.close();
});

afterAll(() => chain?.kill());

async function automine(on: boolean): Promise<void> {
  await chain.rpc.call('evm_setAutomine', [on]);
  if (on) await chain.mine();
}

let payers = 0;

/** Uses a fresh payer, so that its payments can be counted. */
async function newPayment(terms: Parameters<typeof signPayment>[1] = {}): Promise<SignedPayment> {
  payers += 1;
  const payer: TestAccount = testAccount(`payer ${payers} whose place is taken`);
  await fund(chain, [{ address: payer.address, usdcUnits: 1_000_000n }]);
  return signPayment(chain, { payer, ...terms });
}

const settle = (payment: SignedPayment, url = facilitator.url) => post(`${url}/settle`, paymentBody(payment));
const uses = ({ authorization }: SignedPayment): Promise<Hex[]> =>
  usesOf(chain, authorization.from, authorization.nonce);

/** Broadcasts a settlement without mining it. From here on, blocks are mined only by hand. */
async function settlePending(payment: SignedPayment): Promise<{ hash: string; accountNonce: number }> {
  await automine(false);
  const accountNonce = await minedBy(chain, signer.address);
  const { body } = await settle(payment);
  expect(body).toMatchObject({ success: false, errorReason: 'settlement_pending' });
  return { hash: String(body['transaction']), accountNonce };
}

/** Counts the account's transactions that the node has and that are in no block yet. */
const countWithNonce = async (): Promise<number> =>
  Number(await chain.rpc.call('eth_getTransactionCount', [signer.address, 'pending'])) -
  (await minedBy(chain, signer.address));

async function mustBePaidOnce(payment: SignedPayment, url?: string): Promise<string> {
  await expect.poll(async () => (await settle(payment, url)).body['success'], WAITED).toBe(true);
  const { transaction } = (await settle(payment, url)).body;
  expect(await uses(payment)).toEqual([transaction]);
  return String(transaction);
}

test('a settlement whose place another transaction took is sent once more, and the answer is that one', async () => {
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  const payment = await newPayment();
  const { hash, accountNonce } = await settlePending(payment);
  const elsewhere = await takeEtherOut(chain, accountNonce);
  await chain.mine();
  const { fields } = await facilitator.logged('settlement_displaced');
  expect(fields).toMatchObject({ transaction_hash: hash, by_transaction_hash: elsewhere.hash });
  await automine(true);
  expect(await mustBePaidOnce(payment)).not.toBe(hash);
  expect(await minedBy(chain, signer.address)).toBe(accountNonce + 2);
  // The next settlement is not delayed.
  expect((await settle(await newPayment())).body).toMatchObject({ success: true });
});

test('a transaction that takes the place and is itself replaced counts once it is mined, and the place is lost once', async () => {
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  const payment = await newPayment();
  const { accountNonce } = await settlePending(payment);
  await takeEtherOut(chain, accountNonce);
  const second = await takeEtherOut(chain, accountNonce, { raise: 2n });
  await chain.mine();
  const { fields } = await facilitator.logged('settlement_displaced');
  expect(fields['by_transaction_hash']).toBe(second.hash);
  await automine(true);
  await mustBePaidOnce(payment);
  expect(await minedBy(chain, signer.address)).toBe(accountNonce + 2);
});

test('a settlement that loses its further place too is sent for a third', async () => {
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  const payment = await newPayment();
  const { accountNonce } = await settlePending(payment);
  for (const place of [accountNonce, accountNonce + 1]) {
    await expect.poll(countWithNonce, WAITED).toBe(1);
    await takeEtherOut(chain, place);
    await chain.mine();
  }
  await expect.poll(countWithNonce, WAITED).toBe(1);
  await automine(true);
  await mustBePaidOnce(payment);
  expect(await minedBy(chain, signer.address)).toBe(accountNonce + 3);
});

/**
 * Sends another transaction with the settlement's account nonce while the transfer would revert. Resolves after several checks have seen
 * that the transfer would revert.
 */
async function displaceInTrouble(payment: SignedPayment, makeTrouble: () => Promise<unknown>): Promise<string> {
  const { hash, accountNonce } = await settlePending(payment);
  await makeTrouble();
  await takeEtherOut(chain, accountNonce);
  await chain.mine();
  const looks = () => facilitator.lines.filter(({ event }) => event === 'settlement_not_resent').length;
  await expect.poll(looks, WAITED).toBeGreaterThan(2);
  await automine(true);
  expect((await settle(payment)).body).toMatchObject({ errorReason: 'settlement_pending', transaction: hash });
  return hash;
}

/** Transfers the payer's money away. The next block contains this transfer and the transaction that takes the account nonce. */
const moveAway = (payer: TestAccount): Promise<Hex> => {
  const args = [stranger.address, 1_000_000n] as const;
  const data = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args });
  return submit(chain, payer, { to: USDC_ADDRESS, data });
};
const pauseToken = (): Promise<Hex> => {
  const data = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'pause' });
  return submit(chain, USDC_ROLES.pauser, { to: USDC_ADDRESS, data });
};

test('one that does not go through as the money is gone holds nobody up, and is sent once more when the money is back', async () => {
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  const payer = testAccount('payer who spends it elsewhere');
  await fund(chain, [{ address: payer.address, usdcUnits: 1_000_000n, wei: 10n ** 18n }]);
  const payment = await signPayment(chain, { payer });
  const hash = await displaceInTrouble(payment, () => moveAway(payer));
  expect((await settle(await newPayment())).body).toMatchObject({ success: true });
  await fund(chain, [{ address: payer.address, usdcUnits: 1_000_000n }]);
  expect(await mustBePaidOnce(payment)).not.toBe(hash);
});

test('one whose token is paused just then is sent once more when it is not', async () => {
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  const payment = await newPayment();
  const hash = await displaceInTrouble(payment, pauseToken);
  await usdcAdmin(chain).unpause();
  expect(await mustBePaidOnce(payment)).not.toBe(hash);
});

test('one that another sender settled is over, and the answer is that transaction', async () => {
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  const payment = await newPayment();
  const { accountNonce } = await settlePending(payment);
  const data = settleData(payment.authorization, payment.signature);
  const theirs = await submit(chain, stranger, { to: USDC_ADDRESS, data });
  await takeEtherOut(chain, accountNonce);
  await chain.mine();
  await facilitator.logged('settlement_not_resent');
  await automine(true);
  expect(await mustBePaidOnce(payment)).toBe(theirs);
  expect(await minedBy(chain, signer.address)).toBe(accountNonce + 1);
});

test('one that runs out meanwhile is refused', async () => {
  facilitator = await startTestFacilitator(chain, { timing: BRIEF });
  const payer = testAccount('payer whose authorization runs out');
  await fund(chain, [{ address: payer.address, usdcUnits: 1_000_000n, wei: 10n ** 18n }]);
  const validBefore = BigInt(Math.floor(systemClock.now() / 1000) + 30);
  const payment = await signPayment(chain, { payer, validBefore });
  await displaceInTrouble(payment, () => moveAway(payer));
  await chain.rpc.call('evm_setNextBlockTimestamp', [Number(validBefore)]);
  await chain.mine();
  await expect.poll(async () => (await settle(payment)).body['errorReason'], WAITED).not.toBe('settlement_pending');
  expect((await settle(payment)).body).toMatchObject({ success: false, transaction: '' });
  expect(await uses(payment)).toEqual([]);
});

test('a node that counts a settlement and shows no receipt of it is waited for: nothing is sent a second time', async () => {
  const hidden = new Set<unknown>();
  let looks = 0;
  const node = await startRpcServer();
  node.answer(
    eachCall((response, body) => {
      const { method, params } = body as { method: string; params: unknown[] };
      if (method === 'eth_getTransactionReceipt' && hidden.has(params[0])) {
        looks += 1;
        response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(body), result: null }));
        return;
      }
      const headers = { 'content-type': 'application/json' };
      void fetch(chain.url, { method: 'POST', headers, body: JSON.stringify(body) }).then(async (answer) =>
        response.end(await answer.text()),
      );
    }),
  );
  facilitator = await startTestFacilitator(chain, { rpcUrl: node.url, timing: BRIEF });
  try {
    const payment = await newPayment();
    const { hash, accountNonce } = await settlePending(payment);
    hidden.add(hash);
    await chain.mine();
    await expect.poll(() => looks, WAITED).toBeGreaterThan(40);
    expect((await settle(payment)).body).toMatchObject({ errorReason: 'settlement_pending', transaction: hash });
    hidden.clear();
    await automine(true);
    expect(await mustBePaidOnce(payment)).toBe(hash);
    expect(await minedBy(chain, signer.address)).toBe(accountNonce + 1);
    expect(facilitator.lines.map(({ event }) => event)).not.toContain('settlement_displaced');
  } finally {
    await facilitator.close();
    await node.close();
  }
});

describe('reorganisations', () => {
  test('the other transaction is taken back and comes again: the further place stays', async () => {
    facilitator = await startTestFacilitator(chain, { timing: BRIEF });
    const payment = await newPayment();
    const { hash, accountNonce } = await settlePending(payment);
    const elsewhere = await takeEtherOut(chain, accountNonce);
    await chain.mine();
    await expect.poll(countWithNonce, WAITED).toBe(1);
    await reorg(chain, 1, [[elsewhere.raw, 0]]);
    await automine(true);
    expect(await mustBePaidOnce(payment)).not.toBe(hash);
    expect(await minedBy(chain, signer.address)).toBe(accountNonce + 2);
  });

  test('the other transaction is taken back for good: the first place is used after all, the further one by a revert', async () => {
    facilitator = await startTestFacilitator(chain, { timing: BRIEF });
    const payment = await newPayment();
    const { hash, accountNonce } = await settlePending(payment);
    await takeEtherOut(chain, accountNonce);
    await chain.mine();
    await expect.poll(countWithNonce, WAITED).toBe(1);
    await reorg(chain, 1);
    expect(await minedBy(chain, signer.address)).toBe(accountNonce);
    await automine(true);
    // No request is made, because clients may have given up.
    await expect.poll(() => uses(payment), WAITED).toEqual([hash]);
    expect(await mustBePaidOnce(payment)).toBe(hash);
    // The next payment waits behind the transaction with the new nonce, which is broadcast again if the node has dropped it.
    await mustBePaidOnce(await newPayment());
    expect(await minedBy(chain, signer.address)).toBe(accountNonce + 3);
    // The revert paid nothing and starts no cooldown.
    const state = await fetch(`${facilitator.url}/state?payer=${payment.authorization.from}&payee=${signer.address}`);
    expect(await state.json()).toMatchObject({ may_settle: true });
  });

  test('a settlement that was acknowledged is taken back, and the other transaction is in its place: it is sent once more, unasked', async () => {
    facilitator = await startTestFacilitator(chain, { timing: BRIEF });
    const payment = await newPayment();
    const accountNonce = await minedBy(chain, signer.address);
    const first = await mustBePaidOnce(payment);
    const raw = await signElsewhere(accountNonce);
    await reorg(chain, 1, [[raw, 0]]);
    expect([await uses(payment), await minedBy(chain, signer.address)]).toEqual([[], accountNonce + 1]);
    await expect.poll(async () => (await uses(payment)).length, WAITED).toBe(1);
    expect(await mustBePaidOnce(payment)).not.toBe(first);
    expect(await minedBy(chain, signer.address)).toBe(accountNonce + 2);
  });

  test.each([
    ['asked again', true],
    ['unasked', false],
  ])(
    'a settlement that was acknowledged comes again and reverts there: it is not said to be paid, %s',
    async (how, isAsked) => {
      // If the monitor does not run, the next request must notice the reorganisation.
      facilitator = await startTestFacilitator(chain, { timing: { ...BRIEF, quietMs: isAsked ? 600_000 : 100 } });
      const payer = testAccount(`payer whose money leaves in the other chain, ${how}`);
      await fund(chain, [{ address: payer.address, usdcUnits: 1_000_000n, wei: 10n ** 18n }]);
      const payment = await signPayment(chain, { payer });
      const hash = await mustBePaidOnce(payment);
      const raw = await rawTransaction(chain, hash as Hex);
      await reorg(chain, 1, [
        [await signMoveAway(payer), 0],
        [raw, 0],
      ]);
      expect(await uses(payment)).toEqual([]);
      if (!isAsked) await facilitator.logged('settlement_reverted');
      await expect.poll(async () => (await settle(payment)).body['success'], WAITED).toBe(false);
      expect((await settle(payment)).body).toMatchObject({ success: false, transaction: hash });
      expect((await settle(await newPayment())).body).toMatchObject({ success: true });
    },
  );

  /** Signs a transfer of the payer's money to another wallet. It is mined before the settlement in the same block. */
  async function signMoveAway(payer: TestAccount): Promise<Hex> {
    const args = [stranger.address, 1_000_000n] as const;
    const data = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args });
    const fee = { gas: 100_000n, maxFeePerGas: 500_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n };
    const call = { type: 'eip1559', chainId: chain.chainId, nonce: 0, ...fee } as const;
    return payer.signer.signTransaction({ ...call, to: USDC_ADDRESS, data });
  }

  /** Signs without sending, because the account nonce is already used in the current chain. */
  async function signElsewhere(accountNonce: number): Promise<Hex> {
    const fee = { gas: 21_000n, maxFeePerGas: 500_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n };
    const call = { type: 'eip1559', chainId: chain.chainId, nonce: accountNonce, ...fee } as const;
    return signer.signer.signTransaction({ ...call, to: stranger.address, value: 1n });
  }
});

describe('killed', () => {
  test.each([
    ['before_further_signed', 'the place is seen to be lost, and nothing signed'],
    ['after_further_line_synced', 'the further transaction is on the disk, and not broadcast'],
    ['after_further_broadcast', 'the further transaction is broadcast'],
  ])('at %s (%s) it sends one further transaction, over two restarts', async (point) => {
    const dataDir = await temporaryFolder();
    const env = await facilitatorEnvironment(chain, dataDir);
    const payment = await newPayment({ validBefore: BigInt(Math.floor(systemClock.now() / 1000) + 600) });
    await automine(false);
    const accountNonce = await minedBy(chain, signer.address);
    const first = await startFacilitatorProcess(env);
    const cut = settle(payment, first.url).catch(() => 'cut');
    const { transaction_hash: hash } = await first.logged('settlement_broadcast');
    await first.end('SIGKILL');
    expect(await cut).toBe('cut');
    await takeEtherOut(chain, accountNonce);
    await chain.mine();
    await runFacilitatorUntilKilled({ ...env, OPENAISLE_TEST_CRASH_AT: point }, async () => {});
    const last = await startFacilitatorProcess(env);
    try {
      await expect.poll(countWithNonce, WAITED).toBe(1);
      await automine(true);
      expect(await mustBePaidOnce(payment, last.url)).not.toBe(hash);
      expect(await minedBy(chain, signer.address)).toBe(accountNonce + 2);
    } finally {
      await last.end('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
