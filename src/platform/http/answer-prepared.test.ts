import { describe, expect, it } from 'vitest';
import {
  listenSample,
  openSocket,
  type SampleOptions,
  sampleOperations,
  sendRaw,
  startSample,
} from '../../../test/support/sample-server.ts';
import type { Prepared, PreparedStream } from './operation.ts';

type ReadThing = SampleOptions['operations']['readThing'];

const HEAD = ['content-type', 'application/json; charset=utf-8', 'vary', 'accept-encoding'];

function answering(prepared: () => Prepared | PreparedStream): Partial<SampleOptions> {
  const readThing: ReadThing = async () => ({ status: 200, prepared: prepared() });
  return { operations: { ...sampleOperations, readThing } };
}

/** Creates pieces from a generator that records how it ended. */
function pieces(make: () => AsyncGenerator<Uint8Array>, etag: string | null = null) {
  const seen = { made: 0, ended: false };
  async function* watched() {
    try {
      for await (const piece of make()) {
        seen.made += 1;
        yield piece;
      }
    } finally {
      seen.ended = true;
    }
  }
  return { seen, prepared: (): PreparedStream => ({ etag, head: HEAD, pieces: watched() }) };
}

const get = (headers: string[] = []) => ['GET /api/thing/3 HTTP/1.1', 'Host: x', ...headers, '', ''].join('\r\n');

describe('a prepared answer', () => {
  it('is sent as it is, without its schema, and given back', async () => {
    let released = 0;
    const body = Buffer.from('{"not":"in the schema"}');
    const release = () => {
      released += 1;
    };
    const { server } = startSample(answering(() => ({ etag: '"e"', head: HEAD, body, release })));
    const answer = await server.inject('/api/thing/3');
    expect(answer.body).toBe(body.toString());
    expect(answer.headers).toMatchObject({
      etag: '"e"',
      vary: 'accept-encoding',
      'cache-control': 'public, max-age=1, stale-while-revalidate=5',
      'content-length': String(body.length),
      'content-type': 'application/json; charset=utf-8',
    });
    expect(released).toBe(1);
    const head = await server.inject({ method: 'HEAD', url: '/api/thing/3' });
    expect([head.body, head.headers['content-length']]).toEqual(['', String(body.length)]);
    expect(released).toBe(2);
    const known = await server.inject({ url: '/api/thing/3', headers: { 'if-none-match': '"e"' } });
    expect([known.statusCode, known.body, known.headers['vary']]).toEqual([304, '', 'accept-encoding']);
    expect(known.headers['content-type']).toBeUndefined();
    expect(released).toBe(3);
  });

  it('is refused where the answer is private to one caller', async () => {
    let released = 0;
    const release = () => {
      released += 1;
    };
    const prepared = { etag: '"e"', head: HEAD, body: Buffer.from('secret goods'), release };
    const { server, lines } = startSample({
      operations: { ...sampleOperations, readBooks: async () => ({ status: 200, prepared }) as never },
    });
    const answer = await server.inject('/books');
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('secret goods');
    expect(lines.join('')).toContain('readBooks is no public read');
    expect(released).toBe(1);
  });
});

describe('a prepared answer in pieces', () => {
  it('arrives whole, in chunks', async () => {
    const { seen, prepared } = pieces(async function* () {
      for (let piece = 0; piece < 100; piece += 1) yield Buffer.from(`${piece},`.repeat(1_000));
    });
    const { url } = await listenSample(answering(prepared));
    const answer = await fetch(`${url}/api/thing/3`);
    const text = await answer.text();
    expect(text).toBe(Array.from({ length: 100 }, (_, piece) => `${piece},`.repeat(1_000)).join(''));
    expect(answer.headers.get('transfer-encoding')).toBe('chunked');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=1, stale-while-revalidate=5');
    expect(answer.headers.get('etag')).toBeNull();
    expect(seen).toEqual({ made: 100, ended: true });
  });

  it('is not begun where no client reads it', async () => {
    const made = { iterators: 0, pieces: 0, returned: 0 };
    const prepared = (): PreparedStream => ({
      etag: '"e"',
      head: HEAD,
      pieces: {
        [Symbol.asyncIterator]: () => {
          made.iterators += 1;
          return {
            next: async () => {
              made.pieces += 1;
              return { done: true, value: undefined };
            },
            return: async () => {
              made.returned += 1;
              return { done: true, value: undefined };
            },
          };
        },
      },
    });
    const { server } = startSample(answering(prepared));
    const head = await server.inject({ method: 'HEAD', url: '/api/thing/3' });
    expect([head.statusCode, head.body, head.headers['content-length']]).toEqual([200, '', undefined]);
    const known = await server.inject({ url: '/api/thing/3', headers: { 'if-none-match': '"e"' } });
    expect(known.statusCode).toBe(304);
    expect(made).toEqual({ iterators: 2, pieces: 0, returned: 2 });
  });

  it('holds little at a time, and ends when a slow client goes', async () => {
    const { seen, prepared } = pieces(async function* () {
      for (;;) yield Buffer.alloc(256 * 1_024, 'a');
    });
    const { port, lines } = await listenSample(answering(prepared));
    const { socket } = await openSocket(port, get());
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    let before = -1;
    // Wait until the connection's buffers are full.
    await expect
      .poll(
        () => {
          const still = seen.made === before;
          before = seen.made;
          return still;
        },
        { interval: 100 },
      )
      .toBe(true);
    expect(seen.made).toBeLessThan(200);
    expect(seen.ended).toBe(false);
    socket.destroy();
    await expect.poll(() => seen.ended).toBe(true);
    await expect.poll(() => lines.join('')).toContain('"aborted":true');
  });

  it('breaks the connection when it fails in the middle', async () => {
    const { prepared } = pieces(async function* () {
      yield Buffer.from('the beginning');
      throw new Error('lost in the middle');
    });
    const { port, url, lines } = await listenSample(answering(prepared));
    const answer = await sendRaw(port, get());
    expect(answer).toContain('the beginning');
    expect(answer.endsWith('0\r\n\r\n')).toBe(false);
    await expect(fetch(`${url}/api/thing/3`).then((got) => got.text())).rejects.toThrow();
    expect(lines.join('')).toContain('answer_stream_failed');
  });

  it('is a problem like any other when it fails at the start', async () => {
    const failing: AsyncIterator<Uint8Array> = {
      next: async () => {
        throw Object.assign(new Error('connection lost'), { lost: true });
      },
    };
    const pieces = { [Symbol.asyncIterator]: () => failing };
    const { server } = startSample(answering(() => ({ etag: '"e"', head: HEAD, pieces })));
    const answer = await server.inject('/api/thing/3');
    expect([answer.statusCode, answer.json().reason]).toEqual([503, 'unavailable']);
    expect(answer.headers['etag']).toBeUndefined();
    expect(answer.headers['cache-control']).toBe('private, no-store');
  });

  it('knows whether the client unpacks gzip', async () => {
    const readThing: ReadThing = async (_, { acceptsGzip }) => ({
      status: 200,
      body: { name: `gzip: ${acceptsGzip}` },
    });
    const { server } = startSample({ operations: { ...sampleOperations, readThing } });
    const ask = async (encoding: string) =>
      (await server.inject({ url: '/api/thing/3', headers: { 'accept-encoding': encoding } })).json();
    expect([await ask('gzip'), await ask('gzip;q=0')]).toEqual([{ name: 'gzip: true' }, { name: 'gzip: false' }]);
  });

  it('is waited for when the server closes, which takes no new connection meanwhile', async () => {
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { prepared } = pieces(async function* () {
      yield Buffer.from('first');
      await gate;
      yield Buffer.from('last');
    });
    const { server, port, url } = await listenSample(answering(prepared));
    const { heard } = await openSocket(port, get());
    await expect.poll(heard).toContain('first');
    const closing = server.close({ drainMs: 20_000 });
    await expect(fetch(`${url}/api/thing/3`)).rejects.toThrow();
    goOn();
    await closing;
    await expect.poll(heard).toMatch(/last\r\n0\r\n\r\n$/);
  });
});
