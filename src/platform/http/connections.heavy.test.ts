import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSampleServer, type SampleOptions, sampleKey, sendRaw } from '../../../test/support/sample-server.ts';
import type { Page } from './server-options.ts';

async function listen(changed: Partial<SampleOptions> = {}) {
  const { server, lines } = createSampleServer(changed);
  const { port, url } = await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { server, lines, port, url };
}

const get = (path: string, headers: string[] = []) =>
  ['GET ', path, ' HTTP/1.1\r\nHost: x\r\nConnection: close\r\n', ...headers.map((line) => `${line}\r\n`), '\r\n'].join(
    '',
  );
const buy = (headers: string[]) =>
  [
    'POST /api/buy/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n',
    ...headers.map((line) => `${line}\r\n`),
    '\r\n',
  ].join('');

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
}

function problemOf(answer: string): Record<string, unknown> {
  expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  expect(answer).toMatch(/\r\ncontent-type: application\/problem\+json\r\n/);
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

describe('requests that are not what they should be', () => {
  it('are answered with a problem even where they are not HTTP', async () => {
    const { port, lines } = await listen();
    for (const text of [
      'nonsense\r\n\r\n',
      'GET / HTTP/1.1\r\nHost x\r\n\r\n',
      get('/', ['Content-Length: 1', 'Content-Length: 2']),
      get('/', ['X-Bad: a\u0000b']),
      'GET / HTTP/1.1\r\n\r\n',
      get('/api/thing/3#part'),
      get('/', ['Transfer-Encoding: chunked', 'Content-Length: 3']),
      get('/', ['Host: x']),
      get('/api/thing/3', ['hOST: other.example']),
    ]) {
      const answer = await sendRaw(port, text);
      expect([text, statusOf(answer)]).toEqual([text, 400]);
      expect(problemOf(answer)).toMatchObject({ reason: 'malformed_request' });
    }
    expect(lines.filter((line) => line.includes('malformed_request'))).toHaveLength(9);
  });

  it('are refused with 431 above 16,000 bytes of headers, by our count and by the parser’s', async () => {
    const { port } = await listen();
    const sized = (bytes: number) => get('/', [`X-Filler: ${'a'.repeat(bytes)}`]);
    expect(statusOf(await sendRaw(port, sized(15_900)))).toBe(200);
    for (const bytes of [16_000, 20_000, 30_000, 200_000]) {
      expect(problemOf(await sendRaw(port, sized(bytes)))).toMatchObject({ status: 431, reason: 'headers_too_large' });
    }
    const many = Array.from({ length: 2_500 }, () => 'a:');
    expect(statusOf(await sendRaw(port, get('/', many)))).toBe(200);
    expect(statusOf(await sendRaw(port, get('/', [...many, ...many])))).toBe(431);
    expect(statusOf(await sendRaw(port, buy([`X-PAYMENT: ${'a'.repeat(16_001)}`])))).toBe(431);
  });

  it('hold no secret in a header that stands behind thousands of others', async () => {
    const { port } = await listen();
    const many = Array.from({ length: 2_500 }, () => 'a:');
    expect(problemOf(await sendRaw(port, get('/', [...many, `x: ${sampleKey}`])))).toMatchObject({
      reason: 'secret_in_payload',
    });
  });

  it('may carry one proof, once', async () => {
    const { port } = await listen();
    expect(statusOf(await sendRaw(port, buy(['X-PAYMENT: aa'])))).toBe(200);
    for (const headers of [
      ['X-PAYMENT: aa', 'PAYMENT-SIGNATURE: bb'],
      ['X-PAYMENT: aa', 'x-payment: aa'],
      ['PAYMENT-SIGNATURE: aa', 'PAYMENT-SIGNATURE: bb'],
      ['X-Delivery-Token: aa', 'X-Delivery-Token: bb'],
    ]) {
      expect(problemOf(await sendRaw(port, buy(headers)))).toMatchObject({ status: 400, reason: 'two_proofs' });
    }
    expect(statusOf(await sendRaw(port, get('/', ['X-PAYMENT: aa', 'X-PAYMENT: bb'])))).toBe(200);
  });

  it('may carry Authorization once', async () => {
    const { port } = await listen();
    const twice = buy([`Authorization: Bearer ${sampleKey}`, 'Authorization: Bearer other']);
    expect(problemOf(await sendRaw(port, twice))).toMatchObject({ status: 401, reason: 'key_invalid' });
  });

  it('are refused with 413 while the body still comes', async () => {
    const { port } = await listen();
    const head = (rest: string) =>
      `POST /api/thing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${rest}\r\n\r\n`;
    expect(problemOf(await sendRaw(port, head('Content-Length: 99999999')))).toMatchObject({ status: 413 });
    const chunk = `5000\r\n${'a'.repeat(0x5000)}\r\n`;
    expect(problemOf(await sendRaw(port, head('Transfer-Encoding: chunked') + chunk + chunk))).toMatchObject({
      status: 413,
    });
  });

  it('with a broken chunk are answered 400', async () => {
    const { port } = await listen();
    const text =
      'POST /api/thing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';
    expect(problemOf(await sendRaw(port, text))).toMatchObject({ status: 400, reason: 'malformed_request' });
  });

  it('that name the type of a body and bring none are answered at once', async () => {
    const { port } = await listen();
    const head = (method: string, rest: string[] = []) =>
      [
        `${method} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json`,
        ...[`Authorization: Bearer ${sampleKey}`, ...rest],
        '\r\n',
      ].join('\r\n');
    for (const rest of [[], ['Content-Length: 0']]) {
      expect(problemOf(await sendRaw(port, head('POST /api/thing', rest)))).toMatchObject({ reason: 'malformed_json' });
      expect(problemOf(await sendRaw(port, head('DELETE /api/nothing', rest)))).toMatchObject({ reason: 'not_found' });
      expect(statusOf(await sendRaw(port, head('POST /api/buy/1', rest)))).toBe(200);
    }
    const kept = await sendRaw(port, head('POST /api/buy/1') + get('/'));
    expect(kept.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });

  it('with an unknown method are 405 where there is a route', async () => {
    const { port } = await listen();
    const answer = await sendRaw(port, get('/api/thing/3').replace('GET', 'PROPFIND'));
    expect(problemOf(answer)).toMatchObject({ status: 405 });
    expect(answer).toMatch(/\r\nallow: GET, HEAD, OPTIONS\r\n/);
  });

  it.each([[[]], [['Content-Type: nonsense']], [['Content-Type: application/json', 'Content-Length: 2']]])(
    'of the method QUERY are 405 too, with a type or without: %j',
    async (lines) => {
      const { port, lines: logged } = await listen();
      const head = ['QUERY /api/thing/3 HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n');
      const answer = await sendRaw(port, lines.length === 2 ? `${head}{}` : head);
      expect(problemOf(answer)).toMatchObject({ status: 405, reason: 'method_not_allowed' });
      expect(logged.filter((line) => line.includes('request_failed'))).toEqual([]);
      const unknown = await sendRaw(port, head.replace('/api/thing/3', '/api/nothing'));
      expect(problemOf(unknown)).toMatchObject({ status: 404, reason: 'not_found' });
    },
  );

  it('in absolute form are read like any other', async () => {
    const { port } = await listen();
    expect(statusOf(await sendRaw(port, get('http://other.example/api/thing/3?limit=3')))).toBe(200);
    expect(statusOf(await sendRaw(port, get('http://other.example/api/thing/3?limit=0')))).toBe(400);
  });

  it('do not disturb an answer that is under way on the same connection', async () => {
    const gate = openGate();
    const { port } = await listen({ pages: [{ method: 'GET', path: '/slow', handler: () => gate.wait() }] });
    const answer = sendRaw(port, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n');
    await gate.entered;
    expect(await answer).toBe('');
    gate.open();
  });
});

function openGate() {
  let open = (): void => undefined;
  let enter = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const wait = async () => {
    enter();
    await opened;
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: 'done' };
  };
  return { open, entered, wait };
}

function opened(port: number, text = ''): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text);
      resolve(socket);
    });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
  });
}

describe('a server under load and at its end', () => {
  it('answers 503 beyond its measure, but not to probes', async () => {
    const gate = openGate();
    const { url } = await listen({
      bounds: { requestsInFlight: 1 },
      pages: [
        { method: 'GET', path: '/slow', handler: () => gate.wait() },
        { method: 'GET', path: '/healthz', unlimited: true, handler: () => ({ status: 200, headers: {}, body: 'ok' }) },
      ],
    });
    const slow = fetch(`${url}/slow`);
    await gate.entered;
    const busy = await fetch(`${url}/api/thing/3`);
    expect(busy.status).toBe(503);
    expect(busy.headers.get('retry-after')).toBe('1');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    gate.open();
    expect((await slow).status).toBe(200);
    expect((await fetch(`${url}/api/thing/3`)).status).toBe(200);
  });

  it('tells the handler when the client has gone', async () => {
    const gate = openGate();
    let gone = false;
    const handler: Page['handler'] = async ({ signal }) => {
      signal.addEventListener('abort', () => {
        gone = true;
      });
      return gate.wait();
    };
    const { port, lines } = await listen({ pages: [{ method: 'GET', path: '/slow', handler }] });
    const socket = await opened(port, get('/slow'));
    await gate.entered;
    expect(gone).toBe(false);
    socket.destroy();
    await expect.poll(() => gone).toBe(true);
    gate.open();
    expect(lines.join('')).toContain('"aborted":true');
  });

  it('cuts what is in flight when the time is over', async () => {
    const gate = openGate();
    const { server, url } = await listen({ pages: [{ method: 'GET', path: '/slow', handler: () => gate.wait() }] });
    const slow = fetch(`${url}/slow`);
    const cut = expect(slow).rejects.toThrow();
    await gate.entered;
    await server.close({ drainMs: 50 });
    await cut;
  });

  it('does not wait for connections that ask nothing', async () => {
    const { server, port } = await listen();
    await opened(port);
    const kept = await opened(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => kept.once('data', resolve));
    const started = performance.now();
    await server.close({ drainMs: 20_000 });
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
