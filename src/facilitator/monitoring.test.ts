import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestChain } from '../../test/support/chain.ts';
import { startTestFacilitator, type TestFacilitator } from '../../test/support/facilitator.ts';
import { idOf, type RpcServer, startRpcServer } from '../../test/support/rpc-server.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';

/** Answers contract reads; the simulated node passes every other call to the chain. */
type AnswerContract = (response: ServerResponse, call: unknown) => void;

let chain: LocalChain;
let provider: RpcServer;
let facilitator: TestFacilitator;
let answerContract: AnswerContract | null = null;

async function forward(response: ServerResponse, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(chain.url, { method: 'POST', headers, body: JSON.stringify(body) });
  response.end(await answer.text());
}

beforeAll(async () => {
  chain = await startTestChain();
  provider = await startRpcServer();
  provider.answer((response, body) => {
    const isContractRead = JSON.stringify(body).includes('"eth_call"');
    if (answerContract !== null && isContractRead) answerContract(response, body);
    else void forward(response, body).catch(() => response.destroy());
  });
  facilitator = await startTestFacilitator(chain, { rpcUrl: provider.url });
});
afterAll(async () => {
  await facilitator?.close();
  await provider?.close();
  await chain?.kill();
});

const says =
  (answer: object): AnswerContract =>
  (response, call) => {
    response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(call), ...answer }));
  };

test.each<[string, AnswerContract, string]>([
  ['falls silent', (response) => response.destroy(), 'unreachable'],
  ['is asked too often', says({ error: { code: -32_005, message: 'rate limit' } }), 'unreachable'],
  ['has no code at the address of USDC', says({ result: '0x' }), 'wrong_token'],
  ['has another contract there', says({ error: { code: 3, message: 'execution reverted' } }), 'wrong_token'],
])('a node that %s when it is asked about the token', async (_case, answer, expected) => {
  answerContract = answer;
  const unready = await fetch(`${facilitator.url}/readyz`);
  expect([unready.status, ((await unready.json()) as { chain: string }).chain]).toEqual([503, expected]);
  answerContract = null;
  expect((await fetch(`${facilitator.url}/readyz`)).status).toBe(200);
});
