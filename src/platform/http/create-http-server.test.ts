import { describe, expect, it } from 'vitest';
import {
  type SampleCaller,
  type SampleOptions,
  type sampleEndpoints,
  sampleKey,
  startSample,
} from '../../../test/support/sample-server.ts';
import { systemClock } from '../clock.ts';
import { Refusal } from '../refusal.ts';
import type { Operations } from './server-options.ts';

type Missing =
  Pick<SampleOptions['operations'], 'readThing'> extends Operations<typeof sampleEndpoints, null, SampleCaller>
    ? true
    : false;

describe('the answers of an endpoint', () => {
  it('carries what the schema names and nothing else', async () => {
    const { server } = startSample();
    const answer = await server.inject('/api/thing/3');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ name: 'thing 3' });
    expect(answer.body).not.toContain('hidden');
  });

  it('refuses to send an answer that its schema does not fit', async () => {
    const { server, lines } = startSample({
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
    const { server } = startSample();
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
    const { server } = startSample();
    const bought = await server.inject({ method: 'POST', url: '/api/buy/1' });
    expect(bought.headers['cache-control']).toBe('private, no-store');
    expect(bought.headers['etag']).toBeUndefined();
    const missing = await server.inject('/api/thing/404');
    expect(missing.headers['cache-control']).toBe('private, no-store');
  });

  it('sends bytes alone to a client that asks for them', async () => {
    const { server } = startSample();
    const buy = (accept: string) => server.inject({ method: 'POST', url: '/api/buy/1', headers: { accept } });
    const bytes = await buy('application/octet-stream');
    expect(bytes.headers['content-type']).toBe('application/octet-stream');
    expect(bytes.body).toBe('the goods');
    for (const accept of ['*/*', 'application/json', 'application/json, application/octet-stream;q=0.5']) {
      expect((await buy(accept)).headers['content-type']).toBe('application/json; charset=utf-8');
    }
  });

  it('answers HEAD like GET without the body', async () => {
    const { server } = startSample();
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
    const { server } = startSample();
    const answer = await server.inject('/api/thing/404');
    expect(answer.statusCode).toBe(404);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json()).toEqual({
      type: 'https://example.org/docs/errors/not_found',
      title: 'Not found',
      status: 404,
      detail: 'No such thing.',
      reason: 'not_found',
      error_class: 'not_found',
      error: 'No such thing.',
      next_step: 'Check the address and the ids you sent. GET / says where to start.',
      request_id: answer.headers['x-request-id'],
      retry: 'never',
    });
  });

  it('show no internals of a bug, while the log has all but the secrets', async () => {
    const { server, lines } = startSample();
    const answer = await server.inject('/api/thing/500');
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('broken');
    const logged = lines.join('');
    expect(logged).toContain('broken with');
    expect(logged).toContain('sample-server.ts');
    expect(logged).toContain(String(answer.headers['x-request-id']));
    expect(logged).not.toContain(sampleKey);
  });

  it('send Retry-After equal to the body', async () => {
    const { server } = startSample();
    const answer = await server.inject('/api/thing/503');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('2');
    expect(answer.json()).toMatchObject({ reason: 'unavailable', retry_after_seconds: 2 });
  });

  it('say the time by the clock of the server, also in a refusal', async () => {
    const clock = { ...systemClock, now: () => Date.parse('2026-03-01T08:09:10.999Z') };
    const { server } = startSample({ clock });
    for (const method of ['GET', 'POST'] as const) {
      const answer = await server.inject({ method, url: method === 'GET' ? '/api/thing/3' : '/api/buy/unpaid' });
      expect(answer.headers['date']).toBe('Sun, 01 Mar 2026 08:09:10 GMT');
    }
  });

  it('carry the fields and headers of the route', async () => {
    const { server } = startSample();
    const answer = await server.inject({ method: 'POST', url: '/api/buy/unpaid' });
    expect(answer.statusCode).toBe(402);
    expect(answer.headers['payment-required']).toBe('abc');
    expect(answer.headers['access-control-expose-headers']).toContain('payment-required');
    // An answer of bytes can carry the token nowhere else.
    expect(answer.headers['access-control-expose-headers']).toContain('x-delivery-token');
    expect(answer.headers['access-control-expose-headers']).toMatch(/(?:^|, )date(?:,|$)/);
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
    const { server, lines } = startSample({ pages: [{ method: 'GET', path: '/bad', handler: refuse }] });
    expect((await server.inject('/bad')).json()).toMatchObject({ status: 500, reason: 'internal_error' });
    expect(lines.join('')).toContain('refusal_render_failed');
  });

  it('never call paying again safe on a payment route when no code has looked whether there is a payment', async () => {
    const { server } = startSample();
    const broken = (headers: Record<string, string>) =>
      server.inject({ method: 'POST', url: '/api/buy/broken', headers });
    expect((await broken({ 'x-payment': 'abc' })).json()).toMatchObject({ status: 500, do_not_pay_again: true });
    expect((await broken({ 'x-delivery-token': 'abc' })).json()).toMatchObject({ do_not_pay_again: true });
    expect((await broken({})).json()).toMatchObject({ do_not_pay_again: true });
    expect((await server.inject('/api/thing/500')).json()).not.toHaveProperty('do_not_pay_again');
  });

  it('have an own request id on every answer and trust none that is sent', async () => {
    const { server } = startSample();
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
    const { server } = startSample();
    expect((await server.inject('/nowhere')).json()).toMatchObject({ status: 404, reason: 'not_found' });
    expect((await server.inject('/api/thing/3/')).statusCode).toBe(404);
    const wrong = await server.inject({ method: 'DELETE', url: '/api/thing/3' });
    expect(wrong.json()).toMatchObject({ status: 405, reason: 'method_not_allowed' });
    expect(wrong.headers['allow']).toBe('GET, HEAD, OPTIONS');
  });

  it('answer a malformed address', async () => {
    const { server } = startSample();
    expect((await server.inject('/%zz')).json()).toMatchObject({ status: 400, reason: 'malformed_request' });
    expect((await server.inject('/api/thing/%zz')).json()).toMatchObject({ status: 400, reason: 'malformed_request' });
  });

  it('call an id that cannot be one not found', async () => {
    const { server } = startSample();
    for (const id of ['abc', '0', '-1', '01', '1.5', '1e3', '%00', '9'.repeat(300)]) {
      expect((await server.inject(`/api/thing/${id}`)).json()).toMatchObject({ reason: 'not_found' });
    }
  });
});
