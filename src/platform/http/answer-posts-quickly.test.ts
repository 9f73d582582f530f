import { describe, expect, it } from 'vitest';
import {
  listenSample,
  openSocket,
  type SampleOptions,
  sampleKey,
  sendRaw,
} from '../../../test/support/sample-server.ts';
import type { QuickPost } from './prepared.ts';

const CLOSE = 'Connection: close';
const PARTS = ['{"quick":', 'true', '}'].map((text) => Buffer.from(text));

/** One mount at /tell that says what it was told; what begins with `quick` is answered past the framework. */
async function listenPosts(quickly?: QuickPost, changed: Partial<SampleOptions> = {}) {
  const looked: string[] = [];
  const told: string[] = [];
  const ready: QuickPost = ({ body }) => {
    const text = Buffer.from(body).toString();
    looked.push(text);
    return text.startsWith('quick') ? { headers: { 'content-type': 'text/plain' }, parts: PARTS } : null;
  };
  const sample = await listenSample({
    mounts: () => [
      {
        method: 'POST',
        path: '/tell',
        bodyLimit: 100_000,
        quickly: quickly ?? ready,
        answer: async ({ body }) => {
          told.push(Buffer.from(body).toString());
          return { status: 200, headers: { 'content-type': 'text/plain' }, body: `told ${body.byteLength}` };
        },
      },
    ],
    ...changed,
  });
  return { ...sample, looked, told };
}

const post = (body: string, headers: string[] = [CLOSE], path = '/tell') =>
  [`POST ${path} HTTP/1.1`, 'Host: x', `Content-Length: ${Buffer.byteLength(body)}`, ...headers, '', body].join('\r\n');
const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

describe('a message whose answer lies ready', () => {
  it('is answered with its parts, kept by nobody, and counted in place of a line', async () => {
    const { server, port, lines } = await listenPosts();
    const answer = await sendRaw(port, post('quick'));
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodyOf(answer)).toBe('{"quick":true}');
    for (const header of ['content-type: text/plain', 'cache-control: private, no-store', 'x-content-type-options']) {
      expect(answer).toContain(`\r\n${header}`);
    }
    expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
    expect(answer).not.toContain('access-control-allow-origin');
    expect(server.readCounts()).toEqual([{ route: '/tell', answered: 1, notModified: 0 }]);
    expect(lines).toEqual([]);
  });

  it('may come byte by byte', async () => {
    const { port, looked } = await listenPosts();
    const { socket, heard, closed } = await openSocket(port);
    for (const byte of post('quick one')) socket.write(byte);
    await expect.poll(closed).toBe(true);
    expect(bodyOf(heard())).toBe('{"quick":true}');
    expect(looked).toEqual(['quick one']);
  });

  it('is one of many on its connection, in order', async () => {
    const { port } = await listenPosts();
    const answer = await sendRaw(port, post('quick', []) + post('slow', []) + post('quick', []) + post('slower'));
    expect(answer.match(/\{"quick":true\}|told \d+/g)).toEqual([
      '{"quick":true}',
      'told 4',
      '{"quick":true}',
      'told 6',
    ]);
  });
});

describe('any other message', () => {
  it('goes the ordinary way with the very body that was looked at', async () => {
    const { port, looked, told, lines } = await listenPosts();
    const body = `${'\u00e9\u0000{"a":1}'.repeat(900)}`;
    expect(bodyOf(await sendRaw(port, post(body)))).toBe(`told ${Buffer.byteLength(body)}`);
    expect(looked).toEqual([body]);
    expect(told).toEqual([body]);
    await expect.poll(() => lines.filter((line) => line.includes('"request"')).length).toBe(1);
  });

  it('goes that way unread where it is long, in chunks, to another address or not to be had at once', async () => {
    const { port, looked } = await listenPosts();
    expect(bodyOf(await sendRaw(port, post('quick'.repeat(4_000))))).toBe('told 20000');
    const chunked = [
      'POST /tell HTTP/1.1',
      'Host: x',
      'Transfer-Encoding: chunked',
      CLOSE,
      '',
      '5',
      'quick',
      '0',
      '',
      '',
    ];
    expect(bodyOf(await sendRaw(port, chunked.join('\r\n')))).toBe('told 5');
    expect(await sendRaw(port, post('quick', [CLOSE], '/tell?x=1'))).toContain('told 5');
    expect(await sendRaw(port, post('quick', [CLOSE, `X-Any: ${sampleKey}`]))).toContain('"secret_in_payload"');
    expect(looked).toEqual([]);
  });

  it('goes that way when looking at it fails, and that is told', async () => {
    const { port, lines } = await listenPosts(() => {
      throw new Error('broken');
    });
    expect(bodyOf(await sendRaw(port, post('quick')))).toBe('told 5');
    expect(lines.join('')).toContain('shortcut_failed');
  });

  it('that is longer than the mount takes is refused as ever', async () => {
    const { port } = await listenPosts();
    expect(await sendRaw(port, post('x'.repeat(100_001)))).toContain('"reason":"body_too_large"');
  });
});

describe('a message that is not all there', () => {
  const onlyOne = { bounds: { requestsInFlight: 1 } };
  const isFull = async (port: number) =>
    (await sendRaw(port, `GET /api/thing/3 HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n\r\n`)).startsWith('HTTP/1.1 503');

  it('is in flight until it is, also when the server closes meanwhile', async () => {
    const { server, port } = await listenPosts(undefined, onlyOne);
    const { socket, heard, closed } = await openSocket(port);
    const text = post('quick', []);
    socket.write(text.slice(0, -2));
    await expect.poll(() => isFull(port)).toBe(true);
    const closing = server.close({ drainMs: 10_000 });
    socket.write(text.slice(-2));
    // The ordinary way is the one that closes connections.
    await expect.poll(closed).toBe(true);
    expect(heard()).toContain('told 5');
    await closing;
  });

  it('is forgotten when its sender goes', async () => {
    const { port, looked } = await listenPosts(undefined, onlyOne);
    const { socket } = await openSocket(port);
    socket.write(post('quick', []).slice(0, -2));
    await expect.poll(() => isFull(port)).toBe(true);
    socket.destroy();
    await expect.poll(() => isFull(port)).toBe(false);
    expect(looked).toEqual([]);
  });

  it('counts once when it goes the ordinary way', async () => {
    const { port } = await listenPosts(undefined, onlyOne);
    expect(bodyOf(await sendRaw(port, post('slow')))).toBe('told 4');
  });
});
