import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestChain } from '../../test/support/chain.ts';
import {
  minedBy,
  paymentBody,
  post,
  signPayment,
  startTestFacilitator,
  type TestFacilitator,
  usesOf,
} from '../../test/support/facilitator.ts';
import { type CallAnswer, eachCall, idOf, type RpcServer, startRpcServer } from '../../test/support/rpc-server.ts';
import { WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { readLines } from './journal/append-file.ts';
import { keyOf } from './journal/entry.ts';

const { buyerOne } = WORLD_ACCOUNTS;

let chain: LocalChain;
let node: RpcServer;
let facilitator: TestFacilitator;

beforeAll(async () => {
  chain = await startTestChain();
  node = await startRpcServer();
  node.answer(eachCall((response, body) => void forward(response, body)));
  facilitator = await startTestFacilitator(chain, {
    rpcUrl: node.url,
    timing: { answerMs: 900, confirmationMs: 700 },
  });
});

afterEach(() => node.answer(eachCall((response, body) => void forward(response, body))));

afterAll(async () => {
  await facilitator?.close();
  await node?.close();
  await chain?.kill();
});

/** Simulates a node in front of the chain. Forwards every call, except that the test decides about broadcasts. */
async function forward(response: CallAnswer, body: unknown): Promise<void> {
  const answer = await fetch(chain.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  response.end(await answer.text());
}

function onBroadcast(act: (response: CallAnswer, body: unknown, raw: string) => Promise<void> | void): void {
  node.answer(
    eachCall((response, body) => {
      const { method, params } = body as { method: string; params: unknown[] };
      void (method === 'eth_sendRawTransaction' ? act(response, body, String(params[0])) : forward(response, body));
    }),
  );
}

function nodeSays(message: string): (response: CallAnswer, body: unknown) => void {
  return (response, body) => {
    response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(body), error: { code: -32_000, message } }));
  };
}

const settle = (body: unknown) => post(`${facilitator.url}/settle`, body);

test('a transaction is on disk, whole, before the node sees it', async () => {
  const path = join(facilitator.dataDir, 'facilitator', 'journal.log');
  const stored: string[] = [];
  onBroadcast(async (response, body, raw) => {
    const { lines } = readLines(await readFile(path, 'utf8'));
    stored.push(...lines.filter(({ text }) => text.includes(`"raw":"${raw}"`)).map(({ key }) => key));
    await forward(response, body);
  });
  const payment = await signPayment(chain);
  expect((await settle(paymentBody(payment))).body).toMatchObject({ success: true });
  expect(stored).toEqual([keyOf(payment.authorization)]);
});

test('a node that takes the transaction but cuts the answer: nothing is sent twice, and the hash is found', async () => {
  const minedBefore = await minedBy(chain, facilitator.address);
  onBroadcast(async (response, body) => {
    await chain.rpc.call('eth_sendRawTransaction', (body as { params: unknown[] }).params);
    response.destroy();
  });
  const payment = await signPayment(chain);
  const { body } = await settle(paymentBody(payment));
  const [hash] = await usesOf(chain, buyerOne.address, payment.authorization.nonce);
  expect(body).toMatchObject({ success: true, transaction: hash });
  expect(await minedBy(chain, facilitator.address)).toBe(minedBefore + 1);
});

test('a node that loses the transaction without a word is sent the same one again', async () => {
  const seen: string[] = [];
  onBroadcast((response, _, raw) => {
    seen.push(raw);
    response.destroy();
  });
  const payment = await signPayment(chain);
  const { body } = await settle(paymentBody(payment));
  expect(body).toMatchObject({ success: false, errorReason: 'settlement_pending' });
  onBroadcast((response, request, raw) => {
    seen.push(raw);
    return forward(response, request);
  });
  await expect
    .poll(async () => (await settle(paymentBody(payment))).body)
    .toMatchObject({ success: true, transaction: body['transaction'] });
  expect(new Set(seen).size).toBe(1);
});

test('a node that refuses to take it: 503, no hash, and the next try settles', async () => {
  onBroadcast(nodeSays('insufficient funds for gas * price + value'));
  const payment = await signPayment(chain);
  const refused = await settle(paymentBody(payment));
  expect(refused.status).toBe(503);
  expect(refused.body).toMatchObject({ success: false, errorReason: 'unexpected_settle_error', transaction: '' });
  node.answer(eachCall((response, body) => void forward(response, body)));
  expect((await settle(paymentBody(payment))).body).toMatchObject({ success: true });
});

test('no payment is refused because a node fails at any one question', async () => {
  const payment = await signPayment(chain);
  const failing = (method: string): void =>
    node.answer(
      eachCall((response, body) => {
        const asked = (body as { method: string }).method;
        void (asked === method ? nodeSays('rate limited')(response, body) : forward(response, body));
      }),
    );
  for (const method of ['eth_getCode', 'eth_estimateGas', 'eth_getTransactionCount']) {
    failing(method);
    const { status, body } = await settle(paymentBody(payment));
    expect([method, status, body['errorReason']]).toEqual([method, 503, 'unexpected_settle_error']);
  }
  for (const method of ['eth_getCode', 'eth_call']) {
    failing(method);
    const { status, body } = await post(`${facilitator.url}/verify`, paymentBody(payment));
    expect([method, status, body['invalidReason']]).toEqual([method, 503, 'unexpected_verify_error']);
  }
  node.answer(eachCall((response, body) => void forward(response, body)));
  expect((await settle(paymentBody(payment))).body).toMatchObject({ success: true });
});

test('what the node says, its address included, does not reach the caller', async () => {
  node.answer(
    eachCall((response, body) => {
      const { method } = body as { method: string };
      void (method === 'eth_estimateGas' ? nodeSays('secret of the node')(response, body) : forward(response, body));
    }),
  );
  const answer = await settle(paymentBody(await signPayment(chain)));
  expect(JSON.stringify(answer.body)).not.toMatch(/secret|127\.0\.0\.1|http/);
});

test('a node that does not count what waits there: two payments get two places', async () => {
  node.answer(
    eachCall((response, body) => {
      const { method, params } = body as { method: string; params: unknown[] };
      const counts = method === 'eth_getTransactionCount';
      void forward(response, counts ? { ...(body as object), params: [params[0], 'latest'] } : body);
    }),
  );
  const minedBefore = await minedBy(chain, facilitator.address);
  await chain.rpc.call('evm_setAutomine', [false]);
  const bodies = [paymentBody(await signPayment(chain)), paymentBody(await signPayment(chain))];
  const pending = await Promise.all(bodies.map(settle));
  expect(pending.map(({ body }) => body['errorReason'])).toEqual(['settlement_pending', 'settlement_pending']);
  await chain.rpc.call('evm_setAutomine', [true]);
  await chain.mine();
  const settled = await Promise.all(bodies.map(settle));
  expect(settled.map(({ body }) => body['success'])).toEqual([true, true]);
  expect(await minedBy(chain, facilitator.address)).toBe(minedBefore + 2);
});
