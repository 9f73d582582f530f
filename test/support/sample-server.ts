import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../src/contract/endpoint.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createHttpServer, type HttpServer } from '../../src/platform/http/create-http-server.ts';
import { type Page, page, type ServerOptions } from '../../src/platform/http/server-options.ts';
import { createLog } from '../../src/platform/log.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';

const thing = z.object({ name: z.string(), size: z.int().optional() });
const anything = z.object({ saw: z.record(z.string(), z.unknown()) });

/** A small API for tests of the HTTP server, with one endpoint of each kind. */
export const sampleEndpoints = {
  readThing: endpoint({
    name: 'readThing',
    method: 'GET',
    path: '/api/thing/:id',
    summary: 'A public read.',
    auth: 'public',
    params: z.strictObject({
      id: z
        .string()
        .regex(/^[1-9]\d{0,9}$/)
        .transform(BigInt),
    }),
    query: z.strictObject({
      limit: z
        .string()
        .regex(/^[1-9]$/, 'must be 1 to 9')
        .optional(),
    }),
    answers: { 200: thing },
    errors: ['not_found'],
    cache: 'public',
  }),
  makeThing: endpoint({
    name: 'makeThing',
    method: 'POST',
    path: '/api/thing',
    summary: 'A write with a key.',
    auth: 'key',
    body: z.strictObject({
      name: z.string().min(1).max(50),
      tags: z.array(z.string()).optional(),
      blob: z.string().optional(),
    }),
    body_limit: 20_000,
    answers: { 201: thing },
    errors: [],
    cache: 'private',
  }),
  buyThing: endpoint({
    name: 'buyThing',
    method: 'POST',
    path: '/api/buy/:id',
    summary: 'Takes payment headers.',
    auth: 'optional_key',
    params: z.strictObject({ id: z.string() }),
    body: z.strictObject({ collect: z.boolean().optional() }),
    body_optional: true,
    answers: { 200: anything, 202: anything },
    errors: ['payment_required'],
    cache: 'private',
    payment: true,
  }),
  openDoor: endpoint({
    name: 'openDoor',
    method: 'POST',
    path: '/api/register',
    summary: 'Judges the bearer itself.',
    auth: 'staged_key',
    body: z.discriminatedUnion('action', [
      z.strictObject({ action: z.literal('confirm'), merchant_key: z.string().optional() }),
      z.strictObject({ action: z.literal('cancel') }),
    ]),
    answers: { 200: anything },
    errors: ['retired_flow'],
    cache: 'private',
    secret_fields: ['merchant_key'],
  }),
  moderate: endpoint({
    name: 'moderate',
    method: 'POST',
    path: '/api/mod',
    summary: 'For the maintainer.',
    auth: 'maintainer',
    answers: { 200: anything },
    errors: [],
    cache: 'private',
  }),
  readBooks: endpoint({
    name: 'readBooks',
    method: 'GET',
    path: '/books',
    summary: 'Never looks at Authorization.',
    auth: 'audit',
    answers: { 200: anything },
    errors: [],
    cache: 'private',
  }),
};
type Sample = typeof sampleEndpoints;
export interface SampleCaller {
  id: bigint;
}
export type SampleOptions = ServerOptions<Sample, null, SampleCaller>;

export const sampleKey = makeMerchantKey(systemRandom, 'aisle');
export const sampleMaintainerKey = makeMerchantKey(systemRandom, 'aisle');

export const sampleOperations: SampleOptions['operations'] = {
  readThing: async (_context, call) => {
    if (call.params.id === 404n) throw new Refusal('not_found', { detail: 'No such thing.' });
    if (call.params.id === 500n) throw new Error(`broken with ${sampleKey}`);
    if (call.params.id === 503n) throw Object.assign(new Error('connection lost'), { lost: true });
    // Includes a field outside the schema, which must never be sent.
    const body = { name: `thing ${call.params.id}`, secret_goods: 'hidden' };
    return { status: 200, body };
  },
  makeThing: async (_context, call) => ({ status: 201, body: { name: call.body.name, size: Number(call.caller.id) } }),
  buyThing: async (_context, call) => {
    if (call.params.id === 'unpaid') {
      throw new Refusal('payment_required', {
        fields: { x402Version: 1, accepts: [] },
        headers: { 'payment-required': 'abc' },
      });
    }
    if (call.params.id === 'broken') throw new Error('broken');
    const { payment, caller, path, clientNetwork, rawBody } = call;
    const saw = { payment, caller: caller === null ? null : Number(caller.id), path, clientNetwork, rawBody };
    return { status: 200, body: { saw }, bytes: Buffer.from('the goods') };
  },
  openDoor: async (_context, call) => ({ status: 200, body: { saw: { bearer: call.bearer, raw: call.rawBody } } }),
  moderate: async () => ({ status: 200, body: { saw: {} } }),
  readBooks: async () => ({ status: 200, body: { saw: {} } }),
};

export const samplePages: Page[] = [
  page({
    method: 'GET',
    path: '/',
    handler: () => ({ status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: 'welcome' }),
  }),
  page({
    method: 'GET',
    path: '/healthz',
    cache: 'private',
    unlimited: true,
    handler: () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: '{"ok":true}' }),
  }),
  page({
    method: 'GET',
    path: '/docs/errors/:reason',
    handler: (call) => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: call.params['reason'] ?? '' }),
  }),
];

/** Serves the sample API; `lines` collects its log. */
export function createSampleServer(changed: Partial<SampleOptions> = {}): { server: HttpServer; lines: string[] } {
  const lines: string[] = [];
  const server = createHttpServer<Sample, null, SampleCaller>({
    endpoints: sampleEndpoints,
    operations: sampleOperations,
    context: null,
    authenticate: async (bearer) => {
      if (bearer === sampleKey) return { id: 7n };
      return bearer === sampleMaintainerKey ? { id: 1n } : null;
    },
    isMaintainer: (caller) => caller.id === 1n,
    callerId: (caller) => caller.id,
    log: createLog({ stream: { write: (line) => void lines.push(line) } }),
    clock: systemClock,
    random: systemRandom,
    docsUrl: (reason) => `https://example.org/docs/errors/${reason}`,
    secretPrefixes: ['aisle', 'city'],
    trustProxy: false,
    classifyError: (error) =>
      error instanceof Error && 'lost' in error ? new Refusal('unavailable', { retryAfterSeconds: 2 }) : null,
    preSchema: {
      openDoor: (raw) =>
        typeof raw === 'object' && raw !== null && 'action' in raw ? null : new Refusal('retired_flow'),
    },
    pages: samplePages,
    ...changed,
  });
  return { server, lines };
}

/** Sends raw bytes and reads until the server closes or sends nothing for `silenceMs`. */
export function sendRaw(port: number, text: string, silenceMs = 400): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.setTimeout(silenceMs, () => socket.destroy());
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)));
    socket.on('close', () => resolve(answer));
  });
}

/** Starts the sample server, which listens until its test ends. */
export async function listenSample(changed: Partial<SampleOptions> = {}) {
  const { server, lines } = createSampleServer(changed);
  const { port, url } = await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { server, lines, port, url };
}

/** Opens a raw connection; `heard()` returns the data received so far. */
export async function openSocket(port: number, text = '', localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  onTestFinished(() => void socket.destroy());
  let heard = '';
  let closed = false;
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closed = true;
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(text);
  return { socket, heard: () => heard, closed: () => closed };
}

/** Starts a server that stops with its test. */
export function startSample(changed: Partial<SampleOptions> = {}) {
  const sample = createSampleServer(changed);
  onTestFinished(() => sample.server.close({ drainMs: 0 }));
  return sample;
}
