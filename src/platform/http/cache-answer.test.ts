import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { startSample } from '../../../test/support/sample-server.ts';
import type { Page } from './server-options.ts';

const LONG = 'what was removed, and why; '.repeat(100);

function ask(changed: Partial<Page> & { body?: string; type?: string }, headers: Record<string, string> = {}) {
  const { body = LONG, type = 'text/html; charset=utf-8', ...rest } = changed;
  const handler = () => ({ status: 200, headers: { 'content-type': type }, body });
  const { server } = startSample({ pages: [{ method: 'GET', path: '/page', handler, ...rest }] });
  return server.inject({ url: '/page', headers: { 'accept-encoding': 'gzip', ...headers } });
}

it('answers of the framework go out in gzip, under a weak form of their ETag, which is known again', async () => {
  const plain = await ask({}, { 'accept-encoding': 'identity' });
  const packed = await ask({});
  expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body);
  expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(plain.headers).toMatchObject({ vary: 'accept-encoding' });
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(packed.headers['etag']).toBe(`W/${plain.headers['etag']}`);
  expect(packed.headers['content-length']).toBe(String(packed.rawPayload.length));
  const again = await ask({}, { 'if-none-match': String(packed.headers['etag']) });
  expect([again.statusCode, again.body]).toEqual([304, '']);
});

it.each([
  ['what is short', { body: 'short' }],
  ['a picture', { type: 'image/png' }],
  ['what is refused', { handler: () => ({ status: 404, headers: { 'content-type': 'text/html' }, body: LONG }) }],
])('%s stays as it is', async (_, changed) => {
  const answer = await ask(changed);
  expect(answer.headers['content-encoding']).toBeUndefined();
});

it('what answers a form is never compressed: it may hold a secret next to what was sent', async () => {
  const handler = () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: LONG });
  const { server } = startSample({ pages: [{ method: 'POST', path: '/form', secretFields: [], handler }] });
  const headers = { 'accept-encoding': 'gzip', 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await server.inject({ method: 'POST', url: '/form', headers, payload: 'a=b' });
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-encoding']).toBeUndefined();
});
