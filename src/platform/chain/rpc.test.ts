import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { idOf, type RpcServer, resultIs, startRpcServer } from '../../../test/support/rpc-server.ts';
import { callAll, createRpc, RpcFailure } from './rpc.ts';

let node: RpcServer;
beforeAll(async () => {
  node = await startRpcServer();
});
afterAll(() => node.close());
beforeEach(() => {
  node.received.length = 0;
  node.requests.length = 0;
});

async function failure(work: Promise<unknown>): Promise<RpcFailure> {
  const error: unknown = await work.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof RpcFailure)) throw error;
  return error;
}

const call = (): Promise<unknown> => createRpc({ url: node.url }).call('eth_chainId', []);
const twoCalls = (): Promise<unknown[]> =>
  callAll(createRpc({ url: node.url }), [
    { method: 'first', params: [1] },
    { method: 'second', params: [2] },
  ]);
const idsOf = (body: unknown): unknown[] => (Array.isArray(body) ? body.map(idOf) : []);

function answerText(text: string, status = 200): void {
  node.answer((response) => {
    response.writeHead(status).end(text);
  });
}

test('a call sends one JSON-RPC request and gives its result, null included', async () => {
  node.answer(resultIs(null));
  expect(await createRpc({ url: node.url }).call('eth_getBlockByHash', ['0x01', false])).toBeNull();
  expect(node.received).toEqual([
    { jsonrpc: '2.0', id: expect.any(Number), method: 'eth_getBlockByHash', params: ['0x01', false] },
  ]);
  expect(node.requests[0]?.headers['content-type']).toBe('application/json');
});

test('an error of the node carries its code and its revert data', async () => {
  node.answer((response, body) => {
    const error = { code: 3, message: 'execution\nreverted', data: '0x08c379a0' };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(body), error }));
  });
  const failed = await failure(call());
  expect(failed).toMatchObject({ kind: 'error', code: 3, data: '0x08c379a0' });
  expect(failed.message).toContain('execution reverted');
});

test.each([
  ['null', null],
  ['missing', undefined],
])('a rate limit told in a 200 with the id %s is an error with its code', async (_name, id) => {
  answerText(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32005, message: 'limit exceeded' } }));
  expect(await failure(call())).toMatchObject({ kind: 'error', code: -32005 });
});

test.each([429, 500, 503, 404, 401])('HTTP %i is a failure with that status, asked once', async (status) => {
  answerText(JSON.stringify({ jsonrpc: '2.0', id: null, result: '0x1' }), status);
  expect(await failure(call())).toMatchObject({ kind: 'http', code: status });
  expect(node.received).toHaveLength(1);
});

test.each([
  ['empty', ''],
  ['cut off', '{"jsonrpc":"2.0","id":1,"resu'],
  ['a page', '<html>busy</html>'],
  ['a bare value', '"0x2105"'],
  ['another protocol', '{"id":1,"result":"0x1"}'],
  ['without result', '{"jsonrpc":"2.0","id":1}'],
  ['with result and error', '{"jsonrpc":"2.0","id":1,"result":"0x1","error":{"code":1,"message":"x"}}'],
  ['with an error that is a text', '{"jsonrpc":"2.0","id":1,"error":"no"}'],
  ['of another call', '{"jsonrpc":"2.0","id":77,"result":"0x1"}'],
  ['with the id as a text', '{"jsonrpc":"2.0","id":"1","result":"0x1"}'],
  ['without id', '{"jsonrpc":"2.0","result":"0x1"}'],
  ['a list', '[{"jsonrpc":"2.0","id":1,"result":"0x1"}]'],
])('an answer that is %s is malformed', async (_name, text) => {
  answerText(text);
  expect(await failure(call())).toMatchObject({ kind: 'malformed' });
});

/** Serves single calls and batches. `fate` decides whether a call or a whole request fails. */
function takeBatches(fate: (method: string, size: number) => 'error' | 'refused' | 'cut' | null = () => null): void {
  node.answer((response, body) => {
    const calls = (Array.isArray(body) ? body : [body]) as { id: number; method: string }[];
    const fates = calls.map(({ method }) => fate(method, calls.length));
    if (fates.includes('cut')) return void response.destroy();
    if (fates.includes('refused')) return void response.writeHead(413).end();
    const answers = calls.map(({ id, method }, at) =>
      fates[at] === 'error'
        ? { jsonrpc: '2.0', id, error: { code: -32000, message: 'header not found' } }
        : { jsonrpc: '2.0', id, result: `answer to ${method}` },
    );
    response.end(JSON.stringify(Array.isArray(body) ? answers.toReversed() : answers[0]));
  });
}
const sizes = (): number[] => node.received.map((body) => (Array.isArray(body) ? body.length : 1));
const ask = (
  methods: readonly string[],
  rpc = createRpc({ url: node.url }),
): Promise<PromiseSettledResult<unknown>[]> => Promise.allSettled(methods.map((method) => rpc.call(method, [])));
const statuses = (outcomes: readonly PromiseSettledResult<unknown>[]): string[] => outcomes.map(({ status }) => status);

test('calls made at one time are one request, and each has its own answer', async () => {
  takeBatches();
  expect(await twoCalls()).toEqual(['answer to first', 'answer to second']);
  expect(sizes()).toEqual([2]);
});

test('an error of one call is none of the others', async () => {
  takeBatches((method) => (method === 'second' ? 'error' : null));
  const [first, second, third] = await ask(['first', 'second', 'third']);
  expect([first, third].map((one) => one?.status)).toEqual(['fulfilled', 'fulfilled']);
  expect(second).toMatchObject({ status: 'rejected', reason: { kind: 'error', code: -32000 } });
});

test('the same reading at one time is asked once; what changes something as often as it is called', async () => {
  takeBatches();
  await ask(['eth_chainId', 'eth_chainId', 'eth_sendRawTransaction', 'eth_sendRawTransaction']);
  expect(sizes()).toEqual([3]);
});

test('while a request is on its way, calls wait for its answer and share the next one', async () => {
  const held = Promise.withResolvers<void>();
  takeBatches();
  const rpc = createRpc({ url: node.url });
  const first = rpc.call('first', []);
  await expect.poll(() => node.received.length).toBe(1);
  const rest = ['second', 'third'].map(async (method) => {
    await held.promise;
    return await rpc.call(method, []);
  });
  held.resolve();
  await Promise.all([first, ...rest]);
  expect(sizes().reduce((sum, size) => sum + size)).toBe(3);
  expect(sizes().length).toBeLessThan(4);
});

test('a call with a deadline of its own travels alone', async () => {
  takeBatches();
  const rpc = createRpc({ url: node.url });
  await Promise.all([rpc.call('first', []), rpc.call('second', []), rpc.call('third', [], { deadlineMs: 1_000 })]);
  expect(sizes().toSorted()).toEqual([1, 2]);
});

test('a batch is split where the node refuses it for its size, and is no longer the next time', async () => {
  takeBatches((_method, size) => (size > 3 ? 'refused' : null));
  const rpc = createRpc({ url: node.url });
  const methods = Array.from({ length: 10 }, (_, at) => `call${at}`);
  expect(new Set(statuses(await ask(methods, rpc)))).toEqual(new Set(['fulfilled']));
  node.received.length = 0;
  await ask(methods, rpc);
  expect(Math.max(...sizes())).toBeLessThanOrEqual(3);
});

test('a node that takes no batches is asked one by one', async () => {
  node.answer((response, body) => {
    const said = Array.isArray(body)
      ? { id: null, error: { code: -32600, message: 'batch not supported' } }
      : { id: idOf(body), result: '0x1' };
    response.end(JSON.stringify({ jsonrpc: '2.0', ...said }));
  });
  expect(await twoCalls()).toEqual(['0x1', '0x1']);
});

test('a rate limit told to a whole batch fails its calls, and is not answered with more requests', async () => {
  answerText(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32005, message: 'rate limit exceeded' } }));
  expect(statuses(await ask(['first', 'second']))).toEqual(['rejected', 'rejected']);
  expect(sizes()).toEqual([2]);
});

test('what may have spoiled a whole request travels alone the next time', async () => {
  takeBatches((method) => (method === 'spoils' ? 'cut' : null));
  const rpc = createRpc({ url: node.url });
  expect(statuses(await ask(['first', 'spoils', 'third'], rpc))).toEqual(['rejected', 'rejected', 'rejected']);
  expect(statuses(await ask(['first', 'spoils', 'third'], rpc))).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(sizes()).toEqual([3, 1, 1, 1]);
});

test('what went over the wire is counted', async () => {
  takeBatches();
  const rpc = createRpc({ url: node.url });
  await ask(['eth_chainId', 'eth_call'], rpc);
  expect(rpc.traffic()).toMatchObject({ requests: 1, calls: { eth_chainId: 1, eth_call: 1 } });
  expect(rpc.traffic().bytes.sent).toBe(JSON.stringify(node.received[0]).length);
});

test.each([
  ['lacks an answer', (ids: unknown[]) => ids.slice(0, 1)],
  ['answers one call twice', (ids: unknown[]) => [ids[0], ids[0]]],
  ['answers every call, and one of them again', (ids: unknown[]) => [...ids, ids[0]]],
  ['answers a call that was not made', (ids: unknown[]) => [...ids, 4711]],
  ['answers nothing', () => []],
])('a batch that %s is malformed', async (_name, choose) => {
  node.answer((response, body) => {
    response.end(JSON.stringify(choose(idsOf(body)).map((id) => ({ jsonrpc: '2.0', id, result: '0x1' }))));
  });
  expect(await failure(twoCalls())).toMatchObject({ kind: 'malformed' });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['never answers', () => {}],
  ['answers the head and then nothing', (response) => response.writeHead(200).flushHeaders()],
  [
    'sends a space now and then',
    (response) => {
      const timer = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(timer));
    },
  ],
])('a node that %s runs into the deadline', async (_name, behave) => {
  node.answer(behave);
  const rpc = createRpc({ url: node.url, deadlineMs: 60_000 });
  const failed = await failure(rpc.call('eth_chainId', [], { deadlineMs: 80 }));
  expect(failed.kind).toBe('timeout');
  expect(failed.message).toContain('80 ms');
});

test('a connection cut in the middle is a transport failure, asked once', async () => {
  node.answer((response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"jsonrpc"', () => response.destroy());
  });
  expect(await failure(call())).toMatchObject({ kind: 'transport' });
  expect(node.received).toHaveLength(1);
});

test('a node that is not there is a transport failure', async () => {
  const gone = await startRpcServer();
  await gone.close();
  const failed = await failure(createRpc({ url: gone.url }).call('eth_chainId', []));
  expect(failed).toMatchObject({ kind: 'transport', code: null });
  expect(failed.message).toContain('ECONNREFUSED');
});

test('a redirect is not followed', async () => {
  const other = await startRpcServer();
  other.answer(resultIs('0x1'));
  node.answer((response) => {
    response.writeHead(307, { location: other.url }).end();
  });
  expect(await failure(call())).toMatchObject({ kind: 'transport' });
  expect(other.received).toHaveLength(0);
  await other.close();
});

const large = JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'x'.repeat(9 * 1024 * 1024) });
test.each<[string, (response: ServerResponse) => void]>([
  ['plain', (response) => response.end(large)],
  ['compressed', (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(large))],
])('an answer over the limit is not read to its end (%s)', async (_name, behave) => {
  node.answer(behave);
  expect(await failure(call())).toMatchObject({ kind: 'malformed', message: expect.stringContaining('over') });
});

test('user and password go into the header, and nothing secret into label or messages', async () => {
  const url = node.url.replace('http://', 'http://reader:hunter22@').concat('/v2/0123456789abcdef?key=topsecret');
  const rpc = createRpc({ url, headers: { 'x-api-key': 'header-secret' } });
  expect(rpc.endpoint).toBe(`${node.url}/...`);
  node.answer((response, body) => {
    const message = `no access: ${url} header-secret reader hunter22 0123456789abcdef topsecret`;
    response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(body), error: { code: 1, message } }));
  });
  const failures = [await failure(rpc.call('eth_chainId', []))];
  answerText('', 401);
  failures.push(await failure(rpc.call('eth_chainId', [])));
  answerText('nonsense');
  failures.push(await failure(rpc.call('eth_chainId', [])));
  node.answer((response) => response.destroy());
  failures.push(await failure(rpc.call('eth_chainId', [])));

  expect(failures.map((failed) => failed.kind)).toEqual(['error', 'http', 'malformed', 'transport']);
  for (const failed of failures) {
    const shown = [failed.message, failed.stack, JSON.stringify(failed), String(failed.cause)].join(' ');
    expect(shown).not.toMatch(/hunter22|0123456789abcdef|topsecret|header-secret/);
  }
  const [sent] = node.requests;
  expect(sent?.headers['authorization']).toBe(`Basic ${Buffer.from('reader:hunter22').toString('base64')}`);
  expect(sent?.headers['x-api-key']).toBe('header-secret');
  expect(sent?.url).toBe('/v2/0123456789abcdef?key=topsecret');
});

test.each(['secret-not-a-url', 'ftp://secret.example', ''])('the address %o is refused without quoting it', (url) => {
  expect(() => createRpc({ url })).toThrow(TypeError);
  expect(() => createRpc({ url })).not.toThrow(/secret/);
});
