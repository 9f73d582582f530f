import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { startSample } from '../../../test/support/sample-server.ts';
import { etagOf } from './etag.ts';
import type { Page, PageAnswer } from './server-options.ts';

const GUIDE = 'How to buy and how to sell. '.repeat(100);

function startPage(answer: PageAnswer, changed: Partial<Page> = {}) {
  const { server } = startSample({ pages: [{ method: 'GET', path: '/guide', handler: () => answer, ...changed }] });
  return (acceptEncoding?: string, headers: Record<string, string> = {}) =>
    server.inject({
      url: '/guide',
      headers: { ...headers, ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }) },
    });
}

describe('a page whose content seldom changes', () => {
  const answer = { status: 200, headers: { 'content-type': 'text/plain', Vary: 'accept' }, body: GUIDE };

  it.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'br;q=0, gzip', gunzipSync],
  ] as const)('is sent with %s to who accepts %s, once that is made', async (encoding, accepted, unpack) => {
    const ask = startPage(answer, { longLived: true });
    const first = await ask(accepted);
    expect([first.body, first.headers['content-encoding']]).toEqual([GUIDE, undefined]);
    await expect.poll(async () => (await ask(accepted)).headers['content-encoding']).toBe(encoding);
    const packed = await ask(accepted);
    expect(unpack(packed.rawPayload).toString()).toBe(GUIDE);
    expect(packed.headers['content-length']).toBe(String(packed.rawPayload.length));
    const plain = await ask();
    expect(plain.body).toBe(GUIDE);
    for (const { headers } of [first, packed, plain]) expect(headers['vary']).toBe('accept, accept-encoding');
    expect(plain.headers['etag']).not.toBe(packed.headers['etag']);
    const known = await ask(accepted, { 'if-none-match': String(packed.headers['etag']) });
    expect([known.statusCode, known.body, known.headers['content-encoding']]).toEqual([304, '', undefined]);
  });

  it('is the only kind that is sent in br', async () => {
    const ask = startPage(answer);
    await ask('br');
    const again = await ask('br');
    expect([again.body, again.headers['content-encoding']]).toEqual([GUIDE, undefined]);
    expect(again.headers['vary']).toBe('accept, accept-encoding');
  });
});

describe('a page with bytes that are ready', () => {
  it('brings its own tag, and gets its bytes back', async () => {
    let released = 0;
    const release = () => {
      released += 1;
    };
    const ask = startPage({ status: 200, headers: {}, body: Buffer.from('ready'), etag: '"mine"', release });
    const answer = await ask();
    expect([answer.body, answer.headers['etag'], released]).toEqual(['ready', '"mine"', 1]);
    const known = await ask(undefined, { 'if-none-match': '"mine"' });
    expect([known.statusCode, released]).toEqual([304, 2]);
  });

  it('gets one from its bytes otherwise', async () => {
    const answer = await startPage({ status: 200, headers: {}, body: 'text' })();
    expect(answer.headers['etag']).toBe(etagOf('text'));
  });
});
