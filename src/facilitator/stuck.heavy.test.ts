import { parseTransaction } from 'viem';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestChain } from '../../test/support/chain.ts';
import {
  minedBy,
  paymentBody,
  post,
  signPayment,
  startTestFacilitator,
  type TestFacilitator,
  temporaryFolder,
  usesOf,
} from '../../test/support/facilitator.ts';
import { eachCall, idOf, type RpcServer, startRpcServer } from '../../test/support/rpc-server.ts';
import { WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { systemClock } from '../platform/clock.ts';
import { type Hex, isHex } from '../platform/hex.ts';

const { buyerOne, buyerTwo } = WORLD_ACCOUNTS;
/** A transaction counts as stuck after two seconds instead of thirty. */
const TIMING = { answerMs: 900, confirmationMs: 600, stuckMs: 2_000 };

let chain: LocalChain;
let node: RpcServer;
let facilitator: TestFacilitator;
/** Raw broadcast transactions, in order. */
let sent: Hex[] = [];
let takes: (raw: Hex) => boolean = () => true;

beforeAll(async () => {
  chain = await startTestChain();
  node = await startRpcServer();
  node.answer(
    eachCall((response, body) => {
      const { method, params } = body as { method: string; params: unknown[] };
      const [raw] = params;
      if (method === 'eth_sendRawTransaction' && isHex(raw)) {
        sent.push(raw);
        if (!takes(raw)) {
          const error = { code: -32_000, message: 'transaction underpriced' };
          response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(body), error }));
          return;
        }
      }
      void fetch(chain.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then(async (answer) => response.end(await answer.text()));
    }),
  );
  facilitator = await startTestFacilitator(chain, { rpcUrl: node.url, timing: TIMING });
});

afterEach(async () => {
  takes = () => true;
  sent = [];
  await automine(true);
});

afterAll(async () => {
  await facilitator?.close();
  await node?.close();
  await chain?.kill();
});

async function automine(on: boolean): Promise<void> {
  await chain.rpc.call('evm_setAutomine', [on]);
  if (on) await chain.mine();
}

const settle = (body: unknown) => post(`${facilitator.url}/settle`, body);

test('a stuck transaction is sent again for the same place, an eighth dearer, and what is mined of the two is the answer', async () => {
  await automine(false);
  const before = await minedBy(chain, facilitator.address);
  const payment = await signPayment(chain);
  const first = (await settle(paymentBody(payment))).body['transaction'];
  const { fields } = await facilitator.logged('settlement_replaced');
  const [one, two] = [...new Set(sent)].map((raw) => parseTransaction(raw));
  expect(two).toMatchObject({ nonce: one?.nonce, data: one?.data, to: one?.to });
  for (const price of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
    expect(two?.[price] ?? 0n).toBeGreaterThan(((one?.[price] ?? 0n) * 1125n) / 1000n);
  }
  await automine(true);
  const { body } = await settle(paymentBody(payment));
  expect(body).toMatchObject({ success: true, transaction: fields['transaction_hash'] });
  expect(body['transaction']).not.toBe(first);
  expect(await usesOf(chain, buyerOne.address, payment.authorization.nonce)).toEqual([body['transaction']]);
  expect(await minedBy(chain, facilitator.address)).toBe(before + 1);
});

test('the first of two that is mined after all is recognised', async () => {
  await automine(false);
  const payment = await signPayment(chain);
  const first = (await settle(paymentBody(payment))).body['transaction'];
  // The node refuses the replacements and keeps the first, cheaper transaction.
  takes = (raw) => !sent.slice(1).includes(raw);
  await expect.poll(() => new Set(sent).size, { timeout: 15_000 }).toBeGreaterThan(1);
  await automine(true);
  await expect.poll(async () => (await settle(paymentBody(payment))).body['transaction']).toBe(first);
});

test('a transaction that the node refuses keeps its place for its authorization, and is filled once that has run out', async () => {
  await automine(false);
  const before = await minedBy(chain, facilitator.address);
  takes = (raw) => parseTransaction(raw).data === undefined;
  const validBefore = BigInt(Math.floor(systemClock.now() / 1000) + 8);
  const payment = await signPayment(chain, { validBefore });
  expect((await settle(paymentBody(payment))).status).toBe(503);
  takes = () => true;
  await automine(true);
  takes = (raw) => parseTransaction(raw).data === undefined;
  await chain.rpc.call('anvil_dropAllTransactions', []);
  // The next block's time is after the authorization has expired.
  await chain.rpc.call('evm_increaseTime', [20]);
  await chain.mine();
  await facilitator.logged('settlement_nonce_filled');
  await expect.poll(() => minedBy(chain, facilitator.address)).toBe(before + 1);
  takes = () => true;
  // Later payments are mined again, and nothing else is ever signed for the first payment.
  const validLater = BigInt(Math.floor(systemClock.now() / 1000) + 300);
  const next = await signPayment(chain, { payer: buyerTwo, validBefore: validLater });
  expect((await settle(paymentBody(next))).body).toMatchObject({ success: true });
  expect((await settle(paymentBody(payment))).body).toMatchObject({
    success: false,
    errorReason: expect.stringMatching(/failed$/),
  });
  expect(await minedBy(chain, facilitator.address)).toBe(before + 2);
  expect(await usesOf(chain, buyerOne.address, payment.authorization.nonce)).toEqual([]);
});

test('over a restart too it has one place, and the journal does not know a second', async () => {
  const dataDir = await temporaryFolder();
  const account = WORLD_ACCOUNTS.stranger.signer;
  const start = () => startTestFacilitator(chain, { dataDir, account, timing: TIMING });
  const first = await start();
  await automine(false);
  const payment = await signPayment(chain);
  const { transaction } = (await post(`${first.url}/settle`, paymentBody(payment))).body;
  await first.close();
  await chain.rpc.call('anvil_dropTransaction', [transaction]);
  const second = await start();
  try {
    await second.logged('settlement_broadcast_again');
    await automine(true);
    expect((await post(`${second.url}/settle`, paymentBody(payment))).body).toMatchObject({
      success: true,
      transaction,
    });
  } finally {
    await second.close();
  }
});
