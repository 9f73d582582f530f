import { describe, expect, it } from 'vitest';
import { listenSample, type SampleOptions, sampleKey, sendRaw } from '../../../test/support/sample-server.ts';
import { etagOf } from './cache-answer.ts';
import type { MemoryRequest } from './operation.ts';

const BODY = Buffer.from('{"quick":true}');
const ETAG = etagOf(BODY);
const HEAD = ['content-type', 'application/json; charset=utf-8', 'vary', 'accept-encoding'];

/** Starts a server that answers everything below /quick with `body`, which may have any length. */
async function listenQuick(body: Buffer = BODY, changed: Partial<SampleOptions> = {}) {
  const asked: MemoryRequest[] = [];
  let released = 0;
  const sample = await listenSample({
    fromMemory: (request) => {
      asked.push(request);
      if (!request.target.startsWith('/quick')) return null;
      const release = () => {
        released += 1;
      };
      return { etag: ETAG, head: HEAD, body, release, route: '/quick' };
    },
    ...changed,
  });
  return { ...sample, asked, released: () => released };
}

const get = (path: string, headers: string[] = [], method = 'GET') =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');
const CLOSE = 'Connection: close';

function headersOf(answer: string): Record<string, string> {
  const [, ...lines] = answer.slice(0, answer.indexOf('\r\n\r\n')).split('\r\n');
  return Object.fromEntries(lines.map((line) => line.split(/: (.*)/).slice(0, 2)));
}
const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

describe('an answer from memory', () => {
  it('carries what every public read carries', async () => {
    const { port, url, asked, released } = await listenQuick();
    const quick = await sendRaw(port, get('/quick?a=1', [CLOSE, 'Accept: text/html', 'Accept-Encoding: gzip']));
    expect(bodyOf(quick)).toBe(BODY.toString());
    expect(asked).toMatchObject([{ target: '/quick?a=1', accept: 'text/html', acceptsGzip: true, hasKey: false }]);
    expect(asked[0]?.network()).toBe('127.0.0.1');
    const headers = headersOf(quick);
    expect(headers).toMatchObject({ etag: ETAG, vary: 'accept-encoding', 'content-length': String(BODY.length) });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const ordinary = headersOf(await sendRaw(port, get('/api/thing/3', [CLOSE])));
    expect(Object.keys(headers).toSorted()).toEqual(Object.keys(ordinary).toSorted());
    for (const name of ['cache-control', 'access-control-allow-origin', 'access-control-expose-headers']) {
      expect(headers[name]).toBe(ordinary[name]);
    }
    const [one, two] = await Promise.all([fetch(`${url}/quick`), fetch(`${url}/quick`)]);
    expect(one.headers.get('x-request-id')).not.toBe(two.headers.get('x-request-id'));
    expect(released()).toBe(3);
  });

  it('has no body for HEAD, nor where the client has it already', async () => {
    const { port, released } = await listenQuick();
    const head = await sendRaw(port, get('/quick', [CLOSE], 'HEAD'));
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect([bodyOf(head), headersOf(head)['content-length']]).toEqual(['', String(BODY.length)]);
    expect(released()).toBe(1);
    const same = await sendRaw(port, get('/quick', [CLOSE, `If-None-Match: "other", W/${ETAG}`]));
    expect(same).toMatch(/^HTTP\/1\.1 304 /);
    expect(headersOf(same)).toMatchObject({ etag: ETAG, vary: 'accept-encoding' });
    expect(headersOf(same)).not.toHaveProperty('content-length');
    expect(headersOf(same)).not.toHaveProperty('content-type');
    expect(bodyOf(same)).toBe('');
    expect(released()).toBe(2);
  });

  it('is not given where memory has none, or the read fails', async () => {
    const { port, lines } = await listenQuick(BODY, {
      fromMemory: ({ target }) => {
        if (target === '/') throw new Error('broken');
        return null;
      },
    });
    expect(bodyOf(await sendRaw(port, get('/api/thing/3', [CLOSE])))).toBe('{"name":"thing 3"}');
    expect(bodyOf(await sendRaw(port, get('/', [CLOSE])))).toBe('welcome');
    expect(lines.join('')).toContain('cached_read_failed');
  });

  it('is counted by route, in place of a line of its own', async () => {
    const { server, port, lines } = await listenQuick();
    await sendRaw(port, get('/quick', [CLOSE]));
    await sendRaw(port, get('/quick') + get('/quick', [CLOSE, `If-None-Match: ${ETAG}`]));
    expect(server.readCounts()).toEqual([{ route: '/quick', answered: 2, notModified: 1 }]);
    expect(lines).toEqual([]);
    await server.close({ drainMs: 0 });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: 'reads_summary', count: 3, routes: ['/quick 3'] },
    ]);
  });
});

describe('what is never read from memory', () => {
  const json = Buffer.from(JSON.stringify({ a: sampleKey })).toString('base64');
  it.each([
    ['a key in the query', get(`/quick?q=${sampleKey}`, [CLOSE]), 'secret_in_payload'],
    ['a key in the path', get(`/quick/${sampleKey}`, [CLOSE]), 'secret_in_payload'],
    ['a key in a header', get('/quick', [CLOSE, `X-Any: ${sampleKey}`]), 'secret_in_payload'],
    ['a key as base64 in a header', get('/quick', [CLOSE, `X-Any: ${btoa(sampleKey)}`]), 'secret_in_payload'],
    ['a key as the name of a header', get('/quick', [CLOSE, `${sampleKey}: 1`]), 'secret_in_payload'],
    ['a key inside of a payment header', get('/quick', [CLOSE, `X-PAYMENT: ${json}`]), 'secret_in_payload'],
    ['a body', `${get('/quick', [CLOSE, 'Content-Length: 5'])}hello`, 'malformed_request'],
    ['a body in chunks', `${get('/quick', [CLOSE, 'Transfer-Encoding: chunked'])}0\r\n\r\n`, 'malformed_request'],
    ['a fragment', get('/quick#a', [CLOSE]), 'malformed_request'],
    ['a missing Host', 'GET /quick HTTP/1.1\r\nConnection: close\r\n\r\n', 'malformed_request'],
    ['a head that is too long', get('/quick', [CLOSE, `X-Any: ${'a '.repeat(8_000)}`]), 'headers_too_large'],
    ['another method', get('/quick', [CLOSE], 'DELETE'), 'not_found'],
    ['the absolute form', get('http://x/quick', [CLOSE]), 'not_found'],
    ['an expectation', get('/quick', [CLOSE, 'Expect: 100-continue']), 'not_found'],
  ])('%s', async (_name, request, reason) => {
    const { port, asked } = await listenQuick();
    expect(await sendRaw(port, request)).toContain(`"reason":"${reason}"`);
    expect(asked).toEqual([]);
  });

  it('but an empty body and a key in its own place do', async () => {
    const { port, asked } = await listenQuick();
    const headers = [CLOSE, 'Content-Length: 0', `Authorization: Bearer ${sampleKey}`];
    expect(bodyOf(await sendRaw(port, get('/quick', headers)))).toBe(BODY.toString());
    expect(asked).toMatchObject([{ hasKey: true }]);
  });
});

describe('one connection with two requests', () => {
  it('gets its answers in order, whichever way they came', async () => {
    const { port, released } = await listenQuick();
    const bodies = { '/quick': BODY.toString(), '/api/thing/1': '{"name":"thing 1"}' };
    const pairs = [
      ['/quick', '/api/thing/1'],
      ['/quick', '/quick'],
      ['/api/thing/1', '/quick'],
    ] as const;
    for (const [first, second] of pairs) {
      const answer = await sendRaw(port, get(first) + get(second, [CLOSE]));
      expect(answer.match(/\{[^}]*\}/g)).toEqual([bodies[first], bodies[second]]);
    }
    expect(released()).toBe(4);
  });

  it('is not disturbed by what follows and is no HTTP', async () => {
    const { port } = await listenQuick();
    const answer = await sendRaw(port, `${get('/quick')}nonsense\r\n\r\n`);
    expect(answer.startsWith('HTTP/1.1 200 OK')).toBe(true);
    expect(answer.indexOf('malformed_request')).toBeGreaterThan(answer.indexOf(BODY.toString()));
  });
});
