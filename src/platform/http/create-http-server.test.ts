import { describe, expect, it, onTestFinished } from 'vitest';
import { systemRandom } from '../random.ts';
import { Refusal } from '../refusal.ts';
import { makeMerchantKey, makeRecoveryCode } from '../secret-format.ts';
import type { Operations } from './server-options.ts';
import {
  createSampleServer,
  type SampleCaller,
  type SampleOptions,
  type sampleEndpoints,
  sampleKey,
  sampleMaintainerKey,
} from './test-server.ts';

function start(changed: Partial<SampleOptions> = {}) {
  const sample = createSampleServer(changed);
  onTestFinished(() => sample.server.close({ drainMs: 0 }));
  return sample;
}

const json = { 'content-type': 'application/json' };
const withKey = { ...json, authorization: `Bearer ${sampleKey}` };

type Missing =
  Pick<SampleOptions['operations'], 'readThing'> extends Operations<typeof sampleEndpoints, null, SampleCaller>
    ? true
    : false;

describe('the answers of an endpoint', () => {
  it('carries what the schema names and nothing else', async () => {
    const { server } = start();
    const answer = await server.inject('/api/thing/3');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ name: 'thing 3' });
    expect(answer.body).not.toContain('hidden');
  });

  it('refuses to send an answer that its schema does not fit', async () => {
    const { server, lines } = start({
      operations: {
        ...createSampleOperations(),
        readBooks: async () => ({ status: 200, body: { saw: 'not an object' as unknown as Record<string, unknown> } }),
      },
    });
    const answer = await server.inject('/books');
    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toMatchObject({ reason: 'internal_error' });
    expect(lines.join('')).toContain('readBooks answered 200 with what its schema refuses: saw');
  });

  it('does not compile where an endpoint has no operation', () => {
    const missing: Missing = false;
    expect(missing).toBe(false);
  });

  it('lets a public read be kept for a second and checked by its tag', async () => {
    const { server } = start();
    const first = await server.inject('/api/thing/3');
    const etag = String(first.headers['etag']);
    expect(etag).toMatch(/^"[A-Za-z0-9_-]{27}"$/);
    expect(first.headers['cache-control']).toBe('public, max-age=1, stale-while-revalidate=5');
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await server.inject({ url: '/api/thing/3', headers: { 'if-none-match': tag } });
      expect(again.statusCode).toBe(304);
      expect(again.body).toBe('');
      expect(again.headers['etag']).toBe(etag);
      expect(again.headers['content-type']).toBeUndefined();
    }
    const other = await server.inject({ url: '/api/thing/4', headers: { 'if-none-match': etag } });
    expect(other.statusCode).toBe(200);
  });

  it('never lets a private answer or an error be kept', async () => {
    const { server } = start();
    const bought = await server.inject({ method: 'POST', url: '/api/buy/1' });
    expect(bought.headers['cache-control']).toBe('private, no-store');
    expect(bought.headers['etag']).toBeUndefined();
    const missing = await server.inject('/api/thing/404');
    expect(missing.headers['cache-control']).toBe('no-store');
  });

  it('sends bytes alone to a client that asks for them', async () => {
    const { server } = start();
    const buy = (accept: string) => server.inject({ method: 'POST', url: '/api/buy/1', headers: { accept } });
    const bytes = await buy('application/octet-stream');
    expect(bytes.headers['content-type']).toBe('application/octet-stream');
    expect(bytes.body).toBe('the goods');
    for (const accept of ['*/*', 'application/json', 'application/json, application/octet-stream;q=0.5']) {
      expect((await buy(accept)).headers['content-type']).toBe('application/json; charset=utf-8');
    }
  });

  it('answers HEAD like GET without the body', async () => {
    const { server } = start();
    const get = await server.inject('/api/thing/3');
    const head = await server.inject({ method: 'HEAD', url: '/api/thing/3' });
    expect(head.statusCode).toBe(200);
    expect(head.body).toBe('');
    expect(head.headers['etag']).toBe(get.headers['etag']);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });
});

function createSampleOperations(): SampleOptions['operations'] {
  return {
    readThing: async () => ({ status: 200, body: { name: 'thing' } }),
    makeThing: async () => ({ status: 201, body: { name: 'thing' } }),
    buyThing: async () => ({ status: 200, body: { saw: {} } }),
    openDoor: async () => ({ status: 200, body: { saw: {} } }),
    moderate: async () => ({ status: 200, body: { saw: {} } }),
    readBooks: async () => ({ status: 200, body: { saw: {} } }),
  };
}

describe('errors', () => {
  it('are problems with everything an agent needs', async () => {
    const { server } = start();
    const answer = await server.inject('/api/thing/404');
    expect(answer.statusCode).toBe(404);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json()).toEqual({
      type: 'https://example.org/docs/errors/not_found',
      title: 'There is nothing at this address',
      status: 404,
      detail: 'No such thing.',
      reason: 'not_found',
      error_class: 'not_found',
      error: 'No such thing.',
      next_step: 'Check the address; GET / says where to begin.',
      request_id: answer.headers['x-request-id'],
      retry: 'never',
    });
  });

  it('show no internals of a bug, while the log has all but the secrets', async () => {
    const { server, lines } = start();
    const answer = await server.inject('/api/thing/500');
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('broken');
    const logged = lines.join('');
    expect(logged).toContain('broken with');
    expect(logged).toContain('test-server.ts');
    expect(logged).toContain(String(answer.headers['x-request-id']));
    expect(logged).not.toContain(sampleKey);
  });

  it('send Retry-After equal to the body', async () => {
    const { server } = start();
    const answer = await server.inject('/api/thing/503');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('2');
    expect(answer.json()).toMatchObject({ reason: 'unavailable', retry_after_seconds: 2 });
  });

  it('carry the fields and headers of the route', async () => {
    const { server } = start();
    const answer = await server.inject({ method: 'POST', url: '/api/buy/unpaid' });
    expect(answer.statusCode).toBe(402);
    expect(answer.headers['payment-required']).toBe('abc');
    expect(answer.headers['access-control-expose-headers']).toContain('payment-required');
    expect(answer.json()).toMatchObject({
      x402Version: 1,
      accepts: [],
      do_not_pay_again: false,
      reason: 'payment_required',
    });
  });

  it('are one of ours even where a refusal cannot be put into JSON', async () => {
    const refuse = () => {
      throw new Refusal('not_found', { fields: { id: 1n } });
    };
    const { server, lines } = start({ pages: [{ method: 'GET', path: '/bad', handler: refuse }] });
    expect((await server.inject('/bad')).json()).toMatchObject({ status: 500, reason: 'internal_error' });
    expect(lines.join('')).toContain('refusal_not_json');
  });

  it('never call paying again safe on a payment route when a proof was sent and nobody looked it up', async () => {
    const { server } = start();
    const broken = (headers: Record<string, string>) =>
      server.inject({ method: 'POST', url: '/api/buy/broken', headers });
    expect((await broken({ 'x-payment': 'abc' })).json()).toMatchObject({ status: 500, do_not_pay_again: true });
    expect((await broken({ 'x-delivery-token': 'abc' })).json()).toMatchObject({ do_not_pay_again: true });
    expect((await broken({})).json()).toMatchObject({ do_not_pay_again: false });
    expect((await server.inject('/api/thing/500')).json()).not.toHaveProperty('do_not_pay_again');
  });

  it('have an own request id on every answer and trust none that is sent', async () => {
    const { server } = start();
    const headers = { 'x-request-id': 'forged' };
    const ids = new Set<unknown>();
    for (const url of ['/', '/api/thing/3', '/nowhere', '/%zz', '/api/thing/500']) {
      const answer = await server.inject({ url, headers });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.headers['referrer-policy']).toBe('no-referrer');
      ids.add(answer.headers['x-request-id']);
    }
    expect(ids.size).toBe(5);
  });

  it('tell an unknown address from a wrong method', async () => {
    const { server } = start();
    expect((await server.inject('/nowhere')).json()).toMatchObject({ status: 404, reason: 'not_found' });
    expect((await server.inject('/api/thing/3/')).statusCode).toBe(404);
    const wrong = await server.inject({ method: 'DELETE', url: '/api/thing/3' });
    expect(wrong.json()).toMatchObject({ status: 405, reason: 'method_not_allowed' });
    expect(wrong.headers['allow']).toBe('GET, HEAD, OPTIONS');
  });

  it('answer a malformed address', async () => {
    const { server } = start();
    expect((await server.inject('/%zz')).json()).toMatchObject({ status: 400, reason: 'malformed_request' });
    expect((await server.inject('/api/thing/%zz')).json()).toMatchObject({ status: 400, reason: 'malformed_request' });
  });

  it('call an id that cannot be one not found', async () => {
    const { server } = start();
    for (const id of ['abc', '0', '-1', '01', '1.5', '1e3', '%00', '9'.repeat(300)]) {
      expect((await server.inject(`/api/thing/${id}`)).json()).toMatchObject({ reason: 'not_found' });
    }
  });
});

describe('queries', () => {
  it('take each parameter once and only those that are known', async () => {
    const { server } = start();
    const ask = async (query: string) => (await server.inject(`/api/thing/3?${query}`)).json<Record<string, unknown>>();
    expect(await ask('limit=3')).toEqual({ name: 'thing 3' });
    expect(await ask('limit=3&limit=4')).toMatchObject({
      status: 400,
      reason: 'invalid_query',
      errors: [{ path: 'limit' }],
    });
    expect(await ask('limit=0')).toMatchObject({
      reason: 'invalid_query',
      errors: [{ path: 'limit', message: 'must be 1 to 9' }],
    });
    expect(await ask('sort=x&other=y')).toMatchObject({
      reason: 'unexpected_fields',
      errors: [{ path: 'sort' }, { path: 'other' }],
    });
    expect(await ask('limit=%zz')).toMatchObject({ reason: 'invalid_query' });
    expect(await ask('__proto__=1')).toMatchObject({ reason: 'unexpected_fields' });
    expect(await ask('limit=%00')).toMatchObject({ reason: 'invalid_query' });
  });

  it('are refused where a route takes none', async () => {
    const { server } = start();
    expect((await server.inject('/books?x=1')).json()).toMatchObject({
      reason: 'unexpected_fields',
      errors: [{ path: 'x' }],
    });
    expect((await server.inject('/?utm=1')).statusCode).toBe(200);
  });
});

describe('bodies', () => {
  const post = async (payload: string | Buffer, headers: Record<string, string> = withKey) => {
    const { server } = start();
    return (await server.inject({ method: 'POST', url: '/api/thing', headers, payload })).json<
      Record<string, unknown>
    >();
  };

  it('pass when they fit', async () => {
    expect(await post('{"name":"lamp"}')).toEqual({ name: 'lamp', size: 7 });
  });

  it('are refused with the places that are wrong and never the values', async () => {
    const answer = await post('{"name":7,"colour":"crimson","tags":[1]}');
    expect(answer).toMatchObject({ reason: 'unexpected_fields', errors: [{ path: 'colour' }] });
    const fields = await post('{"name":"","tags":["a",1234567]}');
    expect(fields).toMatchObject({ reason: 'invalid_fields', errors: [{ path: 'name' }, { path: 'tags.1' }] });
    expect(JSON.stringify([answer, fields])).not.toMatch(/crimson|1234567/);
  });

  it('must be JSON, said to be JSON, in plain encoding', async () => {
    expect(await post('{"name":')).toMatchObject({
      status: 400,
      reason: 'malformed_json',
      detail: 'Line 1, column 9: expected a value.',
    });
    expect(await post('{"name":"a","name":"b"}')).toMatchObject({ reason: 'malformed_json' });
    expect(await post('')).toMatchObject({ reason: 'malformed_json' });
    for (const type of [
      'text/plain',
      'application/json; charset=latin1',
      'application/x-www-form-urlencoded',
      'nonsense',
    ]) {
      expect(await post('{"name":"lamp"}', { ...withKey, 'content-type': type })).toMatchObject({ status: 415 });
    }
    expect(await post('{"name":"lamp"}', { ...withKey, 'content-encoding': 'gzip' })).toMatchObject({ status: 415 });
    expect(
      await post('{"name":"lamp"}', { ...withKey, 'content-type': 'application/json; charset=UTF-8' }),
    ).toMatchObject({ name: 'lamp' });
  });

  it('may not be larger than the endpoint allows', async () => {
    expect(await post(JSON.stringify({ name: 'x', blob: 'y'.repeat(21_000) }))).toMatchObject({
      status: 413,
      reason: 'body_too_large',
    });
    expect(await post(JSON.stringify({ name: 'x', blob: 'y'.repeat(19_000) }))).toMatchObject({ name: 'x' });
  });

  it('may be absent only where they are optional', async () => {
    const { server } = start();
    const bought = await server.inject({ method: 'POST', url: '/api/buy/1' });
    expect(bought.json()).toMatchObject({ saw: { rawBody: {} } });
    const bodied = await server.inject({
      method: 'POST',
      url: '/api/mod',
      headers: { ...json, authorization: `Bearer ${sampleMaintainerKey}` },
      payload: '{}',
    });
    expect(bodied.json()).toMatchObject({ reason: 'malformed_request' });
  });

  it('reach the look before the schema', async () => {
    const { server } = start();
    const open = async (payload: string) =>
      (await server.inject({ method: 'POST', url: '/api/register', headers: json, payload })).json();
    expect(await open('{"handle":"x"}')).toMatchObject({ status: 410, reason: 'retired_flow' });
    expect(await open('{"action":"dance"}')).toMatchObject({
      status: 400,
      reason: 'invalid_fields',
      errors: [{ path: 'action' }],
    });
  });
});

describe('callers', () => {
  it('are asked for a key where one is needed', async () => {
    const { server } = start();
    const post = (url: string, headers: Record<string, string>) =>
      server.inject({ method: 'POST', url, headers, payload: '{"name":"x"}' });
    const without = await post('/api/thing', json);
    expect(without.json()).toMatchObject({ status: 401, reason: 'key_required' });
    expect(without.headers['www-authenticate']).toBe('Bearer');
    for (const authorization of ['Bearer nobody', 'Basic abc', sampleKey, 'Bearer', `Bearer ${sampleKey} x`]) {
      expect((await post('/api/thing', { ...json, authorization })).json()).toMatchObject({
        status: 401,
        reason: 'key_invalid',
      });
    }
    expect((await post('/api/thing', { ...json, authorization: `bearer ${sampleKey}` })).statusCode).toBe(201);
  });

  it('may leave the key out where it is optional, but not send a wrong one', async () => {
    const { server } = start();
    const buy = async (headers: Record<string, string>) =>
      (await server.inject({ method: 'POST', url: '/api/buy/1', headers })).json();
    expect(await buy({})).toMatchObject({ saw: { caller: null } });
    expect(await buy({ authorization: `Bearer ${sampleKey}` })).toMatchObject({ saw: { caller: 7 } });
    expect(await buy({ authorization: 'Bearer nobody' })).toMatchObject({ status: 401 });
  });

  it('must be the maintainer where only that may act', async () => {
    const { server } = start();
    const act = async (key: string) =>
      (await server.inject({ method: 'POST', url: '/api/mod', headers: { authorization: `Bearer ${key}` } }))
        .statusCode;
    expect(await act(sampleKey)).toBe(403);
    expect(await act(sampleMaintainerKey)).toBe(200);
  });

  it('are not looked at on public and audit routes', async () => {
    let asked = 0;
    const { server } = start({
      authenticate: async () => {
        asked += 1;
        return null;
      },
    });
    for (const url of ['/books', '/api/thing/3', '/']) {
      const plain = await server.inject(url);
      const keyed = await server.inject({ url, headers: { authorization: 'Bearer nonsense' } });
      expect(keyed.body).toBe(plain.body);
    }
    expect(asked).toBe(0);
  });

  it('hand a staged key through unjudged', async () => {
    const { server } = start();
    const key = makeMerchantKey(systemRandom, 'aisle');
    const answer = await server.inject({
      method: 'POST',
      url: '/api/register',
      headers: { ...json, authorization: `Bearer ${key}` },
      payload: { action: 'confirm' },
    });
    expect(answer.json()).toEqual({ saw: { bearer: key, raw: { action: 'confirm' } } });
  });
});

describe('the secret guard on every way in', () => {
  const secrets = [
    makeMerchantKey(systemRandom, 'aisle'),
    makeMerchantKey(systemRandom, 'city'),
    makeRecoveryCode(systemRandom, 'aisle').toLowerCase(),
  ];
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const escaped = (text: string) => text.replaceAll('_', '\\u005f');

  it.each(secrets)(
    'refuses secret %# before authentication and validation, and neither echoes nor logs',
    async (secret) => {
      const { server, lines } = start();
      const percent = `%${secret.charCodeAt(0).toString(16)}${secret.slice(1)}`;
      const tries: Parameters<typeof server.inject>[0][] = [
        `/api/thing/${secret}`,
        `/api/thing/3?limit=${secret}`,
        `/api/thing/3?${percent}=1`,
        `/nowhere/${percent}`,
        `/%zz${secret}`,
        { url: '/books', headers: { referer: `https://example.org/?k=${secret}` } },
        { url: '/', headers: { cookie: `k=${secret}` } },
        { method: 'POST', url: '/api/nowhere', headers: json, payload: `{"a":"${secret}"}` },
        { method: 'POST', url: '/api/thing', headers: json, payload: `{"name":"my key: ${secret}!"}` },
        { method: 'POST', url: '/api/thing', headers: json, payload: `{"${secret}":1}` },
        { method: 'POST', url: '/api/thing', headers: json, payload: `{"name":"${escaped(secret)}"}` },
        { method: 'POST', url: '/api/thing', headers: json, payload: `{"tags":[{"a":["${secret}"]}]}` },
        { method: 'POST', url: '/api/thing', headers: json, payload: `{"blob":"${base64(`goods ${secret} goods`)}"}` },
        { method: 'POST', url: '/api/thing', headers: json, payload: `{"name":"${secret}"` },
        { method: 'POST', url: '/api/thing', headers: { 'content-type': 'text/plain' }, payload: secret },
        { method: 'POST', url: '/api/register', headers: json, payload: { action: 'cancel', session: secret } },
        { method: 'POST', url: '/api/mod', headers: json, payload: { a: secret } },
        { method: 'POST', url: '/api/buy/1', headers: { 'x-payment': base64(`{"a":"${escaped(secret)}"}`) } },
      ];
      for (const request of tries) {
        const answer = await server.inject(request);
        expect([request, answer.statusCode, answer.json<{ reason: string }>().reason]).toEqual([
          request,
          400,
          'secret_in_payload',
        ]);
        expect(answer.body).not.toContain(secret);
      }
      expect(lines.join('').toLowerCase()).not.toContain(secret.slice(9).toLowerCase());
    },
  );

  it('leaves a key alone in its own places', async () => {
    const { server } = start();
    const confirm = await server.inject({
      method: 'POST',
      url: '/api/register',
      headers: json,
      payload: { action: 'confirm', merchant_key: sampleKey },
    });
    expect(confirm.statusCode).toBe(200);
    expect((await server.inject({ url: '/books', headers: { authorization: `Bearer ${sampleKey}` } })).statusCode).toBe(
      200,
    );
    const made = await server.inject({
      method: 'POST',
      url: '/api/thing',
      headers: withKey,
      payload: { name: 'aisle_sk_0000' },
    });
    expect(made.statusCode).toBe(201);
  });
});

describe('scripts of other origins', () => {
  it('may read what is public and buy, and nothing asks for credentials', async () => {
    const { server } = start();
    expect((await server.inject('/api/thing/3')).headers['access-control-allow-origin']).toBe('*');
    expect(
      (await server.inject({ method: 'POST', url: '/api/mod' })).headers['access-control-allow-origin'],
    ).toBeUndefined();
    const preflight = await server.inject({
      method: 'OPTIONS',
      url: '/api/buy/1',
      headers: { origin: 'https://example.org', 'access-control-request-method': 'POST' },
    });
    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers['access-control-allow-methods']).toBe('POST');
    expect(preflight.headers['access-control-allow-headers']).toContain('x-payment');
    expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
    const closed = await server.inject({ method: 'OPTIONS', url: '/api/mod' });
    expect(closed.headers['allow']).toBe('POST, OPTIONS');
    expect(closed.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('the access log', () => {
  it('has one line for each request, with the pattern and not the address', async () => {
    const { server, lines } = start();
    const answer = await server.inject({
      method: 'POST',
      url: '/api/thing?x=private',
      headers: withKey,
      payload: { name: 'x' },
    });
    await server.inject('/somewhere/private');
    const logged = lines.map((line) => JSON.parse(line));
    expect(logged).toHaveLength(2);
    expect(logged[0]).toMatchObject({
      event: 'request',
      request_id: answer.headers['x-request-id'],
      method: 'POST',
      route: '/api/thing',
      status: 400,
      merchant_id: '7',
      reason: 'unexpected_fields',
    });
    expect(logged[1]).toMatchObject({ route: 'none', status: 404 });
    expect(lines.join('')).not.toContain('private');
  });
});
