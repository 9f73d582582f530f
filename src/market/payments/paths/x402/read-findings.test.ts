import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { signAuthorization, startTestChain, usdcAdmin } from '../../../../../test/support/chain.ts';
import { settableClock } from '../../../../../test/support/market-context.ts';
import { recordingLog } from '../../../../../test/support/recording-log.ts';
import { type RpcServer, startRpcServer } from '../../../../../test/support/rpc-server.ts';
import { NETWORKS } from '../../../../contract/vocabulary.ts';
import { WORLD_ACCOUNTS } from '../../../../local/chain/accounts.ts';
import type { LocalChain } from '../../../../local/chain/start-chain.ts';
import { send } from '../../../../local/chain/transactions.ts';
import { readBlock } from '../../../../platform/chain/reads.ts';
import { createRpc, type Rpc } from '../../../../platform/chain/rpc.ts';
import { AUTHORIZATION_USED_TOPIC } from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { X402Payment } from '../../payment.ts';
import { readFindings } from './read-findings.ts';

type Json = Record<string, unknown>;
interface Call extends Json {
  method: string;
  params: unknown[];
}
interface Query {
  fromBlock?: Hex;
  toBlock?: Hex;
  topics: (Hex | Hex[])[];
}

const { buyerOne: payer, sellerOne: payee, stranger } = WORLD_ACCOUNTS;
/** Time from the opening of a payment to its expiry, unless a test sets another. */
const LIFE_SECONDS = 600n;
const SPAN = 2_000;
/** Number of pretended blocks for each real one, because mining thousands of blocks takes half a minute. */
const STRETCH = 500n;

let chain: LocalChain;
let node: RpcServer;
let rpc: Rpc;
let queries: Query[] = [];
let made = 0n;
let blocksRead = 0;
let hasReceipts = true;

beforeAll(async () => {
  chain = await startTestChain();
  node = await startRpcServer();
  node.answer((response, body) => void forward(response, body));
  rpc = createRpc({ url: node.url });
});
beforeEach(() => {
  queries = [];
  blocksRead = 0;
  hasReceipts = true;
});
afterAll(async () => {
  await node?.close();
  await chain?.kill();
});

/** Forwards requests to the real node. Records log queries, and pretends that the chain has `STRETCH` blocks for each real one. */
async function forward(response: ServerResponse, body: unknown): Promise<void> {
  const calls = [body].flat() as Call[];
  for (const { method, params } of calls) {
    if (method === 'eth_getLogs') queries.push(params[0] as Query);
    if (method === 'eth_getBlockByNumber') blocksRead += 1;
  }
  const headers = { 'content-type': 'application/json' };
  const shrunk = JSON.stringify(calls.map(({ params, ...call }) => ({ ...call, params: params.map(shrink) })));
  const answers = (await (await fetch(chain.url, { method: 'POST', headers, body: shrunk })).json()) as Json[];
  const stretched = answers.map((answer, at) => ({ ...answer, result: stretch(answer['result'], calls[at]) }));
  response.end(JSON.stringify(Array.isArray(body) ? stretched : stretched[0]));
}

/** Converts block numbers in a query to real ones, whether alone or as ends of a range. */
function shrink(param: unknown): unknown {
  if (typeof param === 'string' && /^0x[0-9a-f]{1,16}$/.test(param)) return quantity(BigInt(param) / STRETCH);
  if (typeof param !== 'object' || param === null || !('fromBlock' in param)) return param;
  const { fromBlock, toBlock } = param as Required<Query>;
  return { ...param, fromBlock: quantity((BigInt(fromBlock) + STRETCH - 1n) / STRETCH), toBlock: shrink(toBlock) };
}

/** Converts block numbers in an answer to pretended ones. A block between two real ones has the time of the lower one. */
function stretch(result: unknown, call: Call | undefined): unknown {
  if (call?.method === 'eth_getTransactionReceipt' && !hasReceipts) return null;
  if (Array.isArray(result)) return result.map((one) => stretch(one, call));
  if (typeof result !== 'object' || result === null) return result;
  const { number, blockNumber, logs } = result as Record<string, Hex>;
  return {
    ...result,
    ...(number === undefined ? {} : { number: call?.params[0] }),
    ...(blockNumber === undefined ? {} : { blockNumber: quantity(BigInt(blockNumber) * STRETCH) }),
    ...(logs === undefined ? {} : { logs: stretch(logs, call) }),
  };
}

const quantity = (value: bigint): Hex => `0x${value.toString(16)}`;
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`;

/** Makes a payment as if from the ledger, opened in the latest block. */
async function openPayment(changes: Partial<X402Payment> = {}): Promise<X402Payment> {
  const { number, timestamp } = await latest();
  made += 1n;
  return {
    ...{ id: made, path: 'x402', asset: NETWORKS.base.usdc, payer: payer.address, payee: payee.address },
    ...{
      valueUnits: 1n,
      nonce: word(made),
      validAfter: 0n,
      validBefore: timestamp + LIFE_SECONDS,
      openedBlock: number,
    },
    ...changes,
  } as X402Payment;
}

async function pay({ valueUnits: value, nonce, validAfter, validBefore }: X402Payment): Promise<void> {
  const authorization = { from: payer.address, to: payee.address, value, validAfter, validBefore, nonce };
  const signature = await signAuthorization(chain, payer, authorization);
  await usdcAdmin(chain).settleAuthorization(stranger, authorization, signature);
}

async function latest(): Promise<{ number: bigint; timestamp: bigint }> {
  const block = await readBlock(chain.rpc, 'latest');
  if (block === null) throw new Error('no block');
  return { number: block.number * STRETCH, timestamp: block.timestamp };
}

/** Mines this many pretended blocks, with times so far apart that the authorization expires within the first span. */
async function waitForBlocks(blocks: number): Promise<void> {
  await chain.rpc.call('anvil_mine', [quantity(BigInt(blocks) / STRETCH), quantity(LIFE_SECONDS)]);
}

async function find(payments: readonly X402Payment[]) {
  const block = await latest();
  const market = { clock: settableClock(Number(block.timestamp) * 1_000), log: recordingLog().log };
  return await readFindings(market, { rpc, latest: block }, payments);
}

/** Number of range queries, and the highest block that one of them reached. */
function countSearched(): { ranges: number; to: number } {
  const ends = queries.flatMap(({ toBlock }) => (toBlock === undefined ? [] : [Number(toBlock)]));
  return { ranges: ends.length, to: Math.max(...ends) };
}

test('what stays open long after its last moment is searched up to there, each time', async () => {
  const unpaid = await openPayment();
  const paid = await openPayment();
  await pay(paid);
  await waitForBlocks(3 * SPAN);
  const findings = await find([unpaid, paid]);
  expect(findings.get(unpaid.id)).toEqual({ nonceUsed: false, use: null });
  expect(findings.get(paid.id)?.use?.receipt?.status).toBe('success');
  expect(countSearched()).toEqual({ ranges: 1, to: Number(unpaid.openedBlock) + SPAN - 1 });
});

test('a younger payment is searched for in its own blocks, though an older one is open', async () => {
  const old = await openPayment();
  await waitForBlocks(5 * SPAN);
  const young = await openPayment();
  await pay(young);
  const findings = await find([old, young]);
  expect(findings.get(old.id)).toEqual({ nonceUsed: false, use: null });
  expect(findings.get(young.id)?.use?.receipt?.status).toBe('success');
  expect(countSearched().ranges).toBe(2);
  // One read for the end of the first range, and one for the block of the use.
  expect(blocksRead).toBe(2);
});

test('a payment that still can be made is searched for up to the latest block', async () => {
  const lasting = await openPayment({ validBefore: (await latest()).timestamp + 100_000n });
  await waitForBlocks(2 * SPAN);
  await pay(lasting);
  expect((await find([lasting])).get(lasting.id)?.use?.receipt?.status).toBe('success');
});

test('an authorization that was cancelled long after its last moment is found to be', async () => {
  const canceled = await openPayment();
  await waitForBlocks(3 * SPAN);
  await usdcAdmin(chain).cancelAuthorization(stranger, payer, canceled.nonce);
  expect((await find([canceled])).get(canceled.id)?.use?.log.topics).toContain(canceled.nonce);
});

test('however many payments there are, no query has more than 500 topics', async () => {
  const count = 500;
  // Replaces the token by a contract that uses nonce n of payer n for all of them in one transaction.
  const asset: Hex = `0x${'70'.repeat(20)}`;
  const code = `61${count.toString(16).padStart(4, '0')}5b80807f${AUTHORIZATION_USED_TOPIC.slice(2)}60006000a3600190038060035700`;
  await chain.rpc.call('anvil_setCode', [asset, `0x${code}`]);
  const opened = await openPayment({ asset });
  const payments = Array.from({ length: count }, (_, n) => {
    const hex = word(BigInt(n + 1));
    return { ...opened, id: BigInt(n), payer: `0x${hex.slice(-40)}` as Hex, nonce: hex };
  });
  await send(chain, stranger, { to: asset, data: '0x' });
  // Reading a receipt of 500 logs for each payment would take seconds.
  hasReceipts = false;
  const findings = await find(payments);
  expect([...findings.values()].filter(({ use }) => use !== null)).toHaveLength(count);
  expect(Math.max(...queries.map(({ topics }) => topics.flat().length))).toBeLessThanOrEqual(500);
  // Payers in the queries for nonces or, if `isOfBlock`, in the queries for the transfers of a block.
  const asked = (isOfBlock: boolean) =>
    queries.filter((one) => (one.toBlock === undefined) === isOfBlock).flatMap(({ topics }) => topics[1] ?? []);
  for (const isOfBlock of [false, true]) expect(new Set(asked(isOfBlock)).size).toBe(count);
});
