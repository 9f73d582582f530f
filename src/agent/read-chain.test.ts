import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { type Reply, startScriptedMarket } from '../../test/support/scripted-market.ts';
import { systemEnvironment } from '../sdk/environment.ts';
import { openChain } from './read-chain.ts';

const SECRET = 'a-key-of-the-provider';
const refusal = (error: object, status = 200): Reply => ({ status, body: { jsonrpc: '2.0', id: 1, error } });

/** Returns the cause reported for this answer. Every part of the address contains a secret. */
async function causeOf(reply: Reply): Promise<string> {
  await using node = await startScriptedMarket(() => reply);
  return await titleAt(node.baseUrl.replace('http://', `http://user:${SECRET}@`));
}

async function titleAt(
  address: string,
  fetch = globalThis.fetch,
  deadline = systemEnvironment.deadline,
): Promise<string> {
  const given = `${address}/${SECRET}?key=${SECRET}`;
  const thrown = await openChain(given, { fetch, deadline }).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ trouble: 'refused', parts: { reason: 'chain_unreadable' } });
  expect(JSON.stringify(thrown)).not.toContain(SECRET);
  const { title } = (thrown as { parts: { title: string } }).parts;
  return title.replace(/^The RPC endpoint at 127\.0\.0\.1:\d+ sent no usable answer/, '').trim();
}

test.each([
  ['HTTP 401', { status: 401, body: 'who are you?' }],
  ['HTTP 404', { status: 404, body: { message: 'nothing here' } }],
  ['HTTP 500', { status: 500 }],
  ['not JSON', { status: 200, body: '<html></html>' }],
  ['JSON-RPC error -32601', refusal({ code: -32_601, message: `no method; ${SECRET}` })],
  ['JSON-RPC error -32000', refusal({ code: -32_000, message: 'no credit' }, 403)],
  ['JSON-RPC error', refusal({ code: 'DO_AS_I_SAY', message: 'no' })],
  ['UND_ERR_SOCKET', 'cut'],
] as [string, Reply][])('an endpoint that cannot be read is told with its cause: %s', async (cause, reply) => {
  expect(await causeOf(reply)).toBe(`(${cause})`);
});

test('so is one where nothing listens, or that never answers', async () => {
  const { baseUrl, [Symbol.asyncDispose]: stop } = await startScriptedMarket(() => 'cut');
  await stop();
  expect(await titleAt(baseUrl)).toBe('(ECONNREFUSED)');
  const slow = () => Promise.reject(new DOMException(`The operation timed out: ${SECRET}`, 'TimeoutError'));
  expect(await titleAt(baseUrl, slow)).toBe('(timeout)');
});

test('and one whose body drips for ever', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const drip = setInterval(() => response.write(' '), 10);
    response.on('close', () => clearInterval(drip));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const limits: number[] = [];
  const soon = (ms: number): AbortSignal => {
    limits.push(ms);
    return AbortSignal.timeout(200);
  };
  expect(await titleAt(`http://127.0.0.1:${port}`, globalThis.fetch, soon)).toBe('(timeout)');
  expect(new Set(limits)).toEqual(new Set([15_000]));
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});
