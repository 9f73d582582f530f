import { describe, expect, it } from 'vitest';
import { sampleKey, sampleMaintainerKey, startSample } from '../../../test/support/sample-server.ts';
import { systemRandom } from '../random.ts';
import { makeMerchantKey, makeRecoveryCode } from '../secrets.ts';

const json = { 'content-type': 'application/json' };
const withKey = { ...json, authorization: `Bearer ${sampleKey}` };

describe('queries', () => {
  it('take each parameter once and only those that are known', async () => {
    const { server } = startSample();
    const ask = async (query: string) => (await server.inject(`/api/thing/3?${query}`)).json<Record<string, unknown>>();
    expect(await ask('limit=3')).toEqual({ name: 'thing 3' });
    expect(await ask('limit=3&limit=4')).toMatchObject({
      status: 400,
      reason: 'invalid_query',
      errors: [{ path: 'limit' }],
    });
    expect(await ask('limit=0')).toMatchObject({
      reason: 'invalid_query',
      detail: 'Not acceptable: limit: must be 1 to 9.',
      errors: [{ path: 'limit', message: 'must be 1 to 9' }],
    });
    expect(await ask('sort=x&other=y')).toMatchObject({
      reason: 'unexpected_fields',
      detail: 'Not known here: sort; other.',
      errors: [{ path: 'sort' }, { path: 'other' }],
    });
    expect(await ask('limit=%zz')).toMatchObject({ reason: 'invalid_query' });
    expect(await ask('__proto__=1')).toMatchObject({ reason: 'unexpected_fields' });
    expect(await ask('limit=%00')).toMatchObject({ reason: 'invalid_query' });
  });

  it('are refused where a route takes none', async () => {
    const { server } = startSample();
    expect((await server.inject('/books?x=1')).json()).toMatchObject({
      reason: 'unexpected_fields',
      errors: [{ path: 'x' }],
    });
    expect((await server.inject('/?utm=1')).statusCode).toBe(200);
  });
});

describe('bodies', () => {
  const post = async (payload: string | Buffer, headers: Record<string, string> = withKey) => {
    const { server } = startSample();
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
    const { server } = startSample();
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
    const { server } = startSample();
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
    const { server } = startSample();
    const post = (url: string, headers: Record<string, string>) =>
      server.inject({ method: 'POST', url, headers, payload: '{"name":"x"}' });
    const without = await post('/api/thing', json);
    expect(without.json()).toMatchObject({ status: 401, reason: 'key_required' });
    expect(without.headers['www-authenticate']).toBe('Bearer');
    for (const authorization of ['Bearer unknown', 'Basic abc', sampleKey, 'Bearer', `Bearer ${sampleKey} x`]) {
      expect((await post('/api/thing', { ...json, authorization })).json()).toMatchObject({
        status: 401,
        reason: 'key_invalid',
      });
    }
    expect((await post('/api/thing', { ...json, authorization: `bearer ${sampleKey}` })).statusCode).toBe(201);
  });

  it('may leave the key out where it is optional, but not send a wrong one', async () => {
    const { server } = startSample();
    const buy = async (headers: Record<string, string>) =>
      (await server.inject({ method: 'POST', url: '/api/buy/1', headers })).json();
    expect(await buy({})).toMatchObject({ saw: { caller: null } });
    expect(await buy({ authorization: `Bearer ${sampleKey}` })).toMatchObject({ saw: { caller: 7 } });
    expect(await buy({ authorization: 'Bearer unknown' })).toMatchObject({ status: 401 });
  });

  it('must be the maintainer where only that may act', async () => {
    const { server } = startSample();
    const act = async (key: string) =>
      (await server.inject({ method: 'POST', url: '/api/mod', headers: { authorization: `Bearer ${key}` } }))
        .statusCode;
    expect(await act(sampleKey)).toBe(403);
    expect(await act(sampleMaintainerKey)).toBe(200);
  });

  it('are not looked at on public and audit routes', async () => {
    let asked = 0;
    const { server } = startSample({
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
    const { server } = startSample();
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
      const { server, lines } = startSample();
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
        // This field may hold the secret in another step, but not in this one.
        { method: 'POST', url: '/api/register', headers: json, payload: { action: 'cancel', merchant_key: secret } },
        { method: 'POST', url: '/api/register', headers: json, payload: { merchant_key: secret } },
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

  it('takes nothing but a key in Authorization', async () => {
    const { server } = startSample();
    const code = makeRecoveryCode(systemRandom, 'aisle');
    const answer = await server.inject({
      method: 'POST',
      url: '/api/thing',
      headers: { authorization: `Bearer ${code}` },
    });
    expect([answer.statusCode, answer.json<{ reason: string }>().reason]).toEqual([400, 'secret_in_payload']);
    expect(answer.body).not.toContain(code);
  });

  it('leaves a key alone in its own places', async () => {
    const { server } = startSample();
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
    const { server } = startSample();
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
    const { server, lines } = startSample();
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
