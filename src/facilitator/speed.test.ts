import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { reorg, startTestChain } from '../../test/support/chain.ts';
import {
  minedBy,
  paymentBody,
  post,
  signPayment,
  startTestFacilitator,
  type TestFacilitator,
} from '../../test/support/facilitator.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type RpcServer, startRpcServer } from '../../test/support/rpc-server.ts';
import { testAccount, WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { fund, submit } from '../local/chain/transactions.ts';
import { systemClock } from '../platform/clock.ts';
import type { FacilitatorOptions } from './create-facilitator.ts';

const AT_ONCE = 64;
const WAIT = { timeout: 20_000 };
const payers = Array.from({ length: AT_ONCE }, (_, n) => testAccount(`payer in a hurry ${n}`));
const { facilitator: signer, stranger } = WORLD_ACCOUNTS;

let chain: LocalChain;
let node: RpcServer;
let asked: string[] = [];
const running: TestFacilitator[] = [];

beforeAll(async () => {
  chain = await startTestChain();
  await fund(
    chain,
    payers.map(({ address }) => ({ address, usdcUnits: 100_000_000n })),
  );
  node = await startRpcServer();
});

afterEach(async () => {
  await automine(true);
  for (const facilitator of running.splice(0)) await facilitator.close();
});

afterAll(async () => {
  await node?.close();
  await chain?.kill();
});

async function automine(on: boolean): Promise<void> {
  await chain.rpc.call('evm_setAutomine', [on]);
  if (on) await chain.mine();
}

/** Counts the transactions that wait for a block. */
async function pooled(): Promise<number> {
  const { pending } = (await chain.rpc.call('txpool_status', [])) as { pending: string };
  return Number(pending);
}

interface Asked {
  method: string;
  id: unknown;
}

/** Starts a facilitator on a node that counts and forwards every call. `instead` may answer a call itself or delay it. */
async function start(
  options: Partial<FacilitatorOptions> = {},
  instead: (call: Asked) => object | null | Promise<null> = () => null,
): Promise<TestFacilitator> {
  asked = [];
  const answerOne = async (call: Asked): Promise<unknown> => {
    asked.push(call.method);
    const own = await instead(call);
    if (own !== null) return { jsonrpc: '2.0', id: call.id, ...own };
    const headers = { 'content-type': 'application/json' };
    return (await fetch(chain.url, { method: 'POST', headers, body: JSON.stringify(call) })).json();
  };
  const forward = async (response: ServerResponse, body: unknown): Promise<void> => {
    // A single call, or a batch of calls made at the same moment.
    const calls = [body].flat() as Asked[];
    const answers = await Promise.all(calls.map(answerOne));
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  };
  node.answer((response, body) => void forward(response, body));
  const facilitator = await startTestFacilitator(chain, { rpcUrl: node.url, ...options });
  running.push(facilitator);
  return facilitator;
}

async function pays(facilitator: TestFacilitator, payer: (typeof payers)[number]): Promise<Record<string, unknown>> {
  const body = paymentBody(await signPayment(chain, { payer }));
  expect((await post(`${facilitator.url}/verify`, body)).body).toMatchObject({ isValid: true });
  return (await post(`${facilitator.url}/settle`, body)).body;
}

test('64 at once take at most five calls each, no count of the account, and share the disk', async () => {
  const metricsPort = await freePort();
  const gate = Promise.withResolvers<null>();
  let isHeld = false;
  // Stop the clock. On a slow machine two seconds could pass without an answer of the chain, and the account's count would be read again.
  const now = systemClock.now();
  const clock = { now: () => now, sleep: systemClock.sleep };
  const facilitator = await start({ clock, metricsPort, timing: { quietMs: 60_000 } }, ({ method }) =>
    isHeld && method === 'eth_estimateGas' ? gate.promise : null,
  );
  const syncs = async (): Promise<number> => {
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/journal_fsyncs_total (\d+)/.exec(metrics)?.[1]);
  };
  expect(await pays(facilitator, payers[0] ?? stranger)).toMatchObject({ success: true });
  const bodies = await Promise.all(payers.map(async (payer) => paymentBody(await signPayment(chain, { payer }))));
  const ask = (path: string) => Promise.all(bodies.map((body) => post(`${facilitator.url}${path}`, body)));
  await automine(false);
  asked = [];
  const verified = await ask('/verify');
  expect(verified.map(({ body }) => body['isValid'])).toEqual(payers.map(() => true));
  isHeld = true;
  const before = await syncs();
  const all = ask('/settle');
  const count = (method: string): number => asked.filter((one) => one === method).length;
  // Wait until all are rehearsed, so that all are signed at the same moment.
  await expect.poll(() => count('eth_estimateGas'), WAIT).toBe(AT_ONCE);
  gate.resolve(null);
  await expect.poll(() => count('eth_sendRawTransaction'), WAIT).toBe(AT_ONCE);
  expect((await syncs()) - before).toBeLessThan(AT_ONCE / 2);
  // The node may not have received every transaction yet. If it loses one, fail here and not as a slow payment.
  await expect.poll(pooled, WAIT).toBe(AT_ONCE);
  await automine(true);
  expect((await all).map(({ body }) => body['success'])).toEqual(payers.map(() => true));
  expect(asked.length / AT_ONCE).toBeLessThanOrEqual(5);
  expect(count('eth_getTransactionCount')).toBeLessThanOrEqual(1);
  expect(asked).not.toContain('eth_chainId');
});

test('while nothing is in flight nothing is asked', async () => {
  // Blocks are final immediately here, so nothing could be taken back.
  const facilitator = await start({ timing: { finalEveryMs: 50 } });
  expect(await pays(facilitator, payers[1] ?? stranger)).toMatchObject({ success: true });
  const isNoted = (): boolean => asked.includes('eth_getTransactionReceipt') || asked.includes('eth_getBlockReceipts');
  expect(isNoted()).toBe(true);
  const blocks = new Set(['eth_getBlockByNumber']);
  // Sales that are not final are checked once after the start.
  await expect.poll(() => new Set(asked.slice(-5)), WAIT).toEqual(blocks);
  const before = asked.length;
  await expect.poll(() => asked.length, WAIT).toBeGreaterThan(before + 5);
  expect(new Set(asked.slice(before))).toEqual(blocks);
});

test('what is over the bound waits for one that ends', async () => {
  const facilitator = await start({ limits: { in_flight: 3 } });
  await automine(false);
  const before = await minedBy(chain, facilitator.address);
  const all = Promise.all(payers.slice(0, 5).map((payer) => pays(facilitator, payer)));
  const sent = (): number => asked.filter((method) => method === 'eth_sendRawTransaction').length;
  await expect.poll(sent, WAIT).toBe(3);
  await chain.mine();
  await expect.poll(sent, WAIT).toBe(5);
  await automine(true);
  expect((await all).map(({ success }) => success)).toEqual([true, true, true, true, true]);
  expect(await minedBy(chain, facilitator.address)).toBe(before + 5);
});

test('a key that was used elsewhere meanwhile: the next payment takes the place after that', async () => {
  let aheadMs = 0;
  const clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };
  const facilitator = await start({ clock });
  expect(await pays(facilitator, payers[2] ?? stranger)).toMatchObject({ success: true });
  await submit(chain, signer, { to: stranger.address, value: 1n });
  aheadMs = 3_000;
  expect(await pays(facilitator, payers[2] ?? stranger)).toMatchObject({ success: true });
});

test('a block taken back is noticed by the next payment, however many blocks came meanwhile', async () => {
  const facilitator = await start();
  const first = await pays(facilitator, payers[5] ?? stranger);
  expect(first).toMatchObject({ success: true });
  await reorg(chain, 1);
  await chain.mine(20);
  // The reorganisation freed the previous account nonce, so this payment is mined only if the first one is broadcast again.
  expect(await pays(facilitator, payers[6] ?? stranger)).toMatchObject({ success: true });
  const read = { method: 'eth_getTransactionReceipt', params: [first['transaction']] } as const;
  expect(await chain.rpc.call(read.method, read.params)).toMatchObject({ status: '0x1' });
});

test('a node that does not serve the receipts of a block is asked for each of them', async () => {
  const facilitator = await start({}, ({ method }) =>
    method === 'eth_getBlockReceipts' ? { error: { code: -32_601, message: 'method not found' } } : null,
  );
  await automine(false);
  const all = Promise.all(payers.slice(0, 8).map((payer) => pays(facilitator, payer)));
  await expect.poll(() => asked.filter((method) => method === 'eth_sendRawTransaction').length, WAIT).toBe(8);
  await automine(true);
  expect((await all).map(({ success }) => success)).toEqual(Array.from({ length: 8 }, () => true));
  expect(asked).toContain('eth_getBlockReceipts');
});

test('a node that has the block before its receipts is asked again', async () => {
  let withheld = 3;
  const facilitator = await start({}, ({ method }) => {
    if (method !== 'eth_getTransactionReceipt' || withheld === 0) return null;
    withheld -= 1;
    return { result: null };
  });
  expect(await pays(facilitator, payers[3] ?? stranger)).toMatchObject({ success: true });
  expect(withheld).toBe(0);
});

test('a block that a node forgets while it is followed is found by the next look after what is overdue', async () => {
  let hidden = true;
  // While hidden, the node returns null for every block, so the follower finds nothing.
  const facilitator = await start({ timing: { answerMs: 900, confirmationMs: 600 } }, ({ method }) =>
    hidden && method === 'eth_getBlockByNumber' ? { result: null } : null,
  );
  hidden = false;
  const body = paymentBody(await signPayment(chain, { payer: payers[4] ?? stranger }));
  expect((await post(`${facilitator.url}/verify`, body)).body).toMatchObject({ isValid: true });
  hidden = true;
  expect((await post(`${facilitator.url}/settle`, body)).body).toMatchObject({ errorReason: 'settlement_pending' });
  hidden = false;
  const { fields } = await facilitator.logged('settlement_ended');
  expect(fields).toMatchObject({ state: 'succeeded' });
});
