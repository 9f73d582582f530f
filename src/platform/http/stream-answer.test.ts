import { describe, expect, it } from 'vitest';
import { listenSample, openSocket, type SampleOptions, sendRaw } from '../../../test/support/sample-server.ts';
import type { Listener } from './message.ts';

const HELLO = Buffer.from('hello ');
const get = (path: string, method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const getOnce = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;

/** Starts a server with an extra route that says hello and then lets the test write to its listeners. */
async function listenWithStream(changed: Partial<SampleOptions> = {}) {
  const listeners: Listener[] = [];
  let released = 0;
  const sample = await listenSample({
    extraRoutes: () => [
      {
        method: 'GET',
        path: '/held',
        withHead: true,
        answer: async () => ({
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: '',
          listen: (listener) => {
            listeners.push(listener);
            listener.write(HELLO);
          },
          release: () => {
            released += 1;
          },
        }),
      },
    ],
    ...changed,
  });
  return { ...sample, listeners, released: () => released };
}

const until = (holds: () => boolean): Promise<void> => expect.poll(holds, { interval: 2 }).toBe(true);

async function openStream(port: number, request = get('/held')) {
  const client = await openSocket(port, request);
  await until(() => client.heard().endsWith('hello '));
  return client;
}

describe('an answer that is held open', () => {
  it('has a head like every other, ends with its connection, and is given back once when the client goes', async () => {
    const { port, listeners, released, lines } = await listenWithStream();
    const client = await openStream(port);
    listeners[0]?.write(Buffer.from('again'));
    await until(() => client.heard().endsWith('again'));
    const [head = '', body] = client.heard().split('\r\n\r\n');
    expect(body).toBe('hello again');
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(head).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
    expect(head).toMatch(/\r\naccess-control-allow-origin: \*\r\n/);
    expect(head).toMatch(/\r\nconnection: close/i);
    expect(head).not.toMatch(/transfer-encoding|content-length/i);
    expect([released(), lines.length]).toEqual([0, 0]);
    client.socket.destroy();
    await until(() => released() === 1);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ event: 'request', route: '/held', status: 200 }]);
    expect(listeners[0]?.write(HELLO)).toBe(false);
    listeners[0]?.end(HELLO);
    listeners[0]?.cut();
    expect(released()).toBe(1);
  });

  it('says to HEAD what it would say, and no more', async () => {
    const { port, listeners, released } = await listenWithStream();
    const answer = await sendRaw(port, get('/held', 'HEAD'));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*content-type: text\/event-stream\r\n(?:.+\r\n)*\r\n$/);
    expect(answer).not.toMatch(/content-length/i);
    expect([listeners.length, released()]).toEqual([0, 1]);
  });

  it('is not in flight: others are served, and a close waits for none', async () => {
    const { server, port, listeners, released } = await listenWithStream({ bounds: { requestsInFlight: 1 } });
    const clients = [await openStream(port), await openStream(port), await openStream(port)];
    expect(await sendRaw(port, getOnce('/'))).toContain('welcome');
    const begun = performance.now();
    listeners[0]?.end(Buffer.from('farewell'));
    await server.close({ drainMs: 20_000 });
    expect(performance.now() - begun).toBeLessThan(5_000);
    await until(() => clients.every(({ closed }) => closed()));
    expect(clients[0]?.heard().endsWith('farewell')).toBe(true);
    expect(released()).toBe(3);
  });

  it('lets nothing wait behind it on its connection', async () => {
    const { server, port, released } = await listenWithStream();
    const later = await openStream(port);
    later.socket.write(get('/api/thing/1'));
    const together = await openSocket(port, get('/held') + get('/api/thing/1'));
    await until(() => later.closed() && together.closed());
    await until(() => released() === 2);
    await server.close({ drainMs: 20_000 });
  });

  it('tells the writer when the client takes no more, and when it has taken all', async () => {
    const { port, listeners, released } = await listenWithStream();
    const { socket } = await openStream(port);
    const [listener] = listeners;
    socket.pause();
    const piece = Buffer.alloc(65_536, 'a');
    let written = 0;
    while (listener?.write(piece)) {
      written += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(written).toBeLessThan(1_000);
    let drained = false;
    listener?.onceDrained(() => {
      drained = true;
    });
    expect(drained).toBe(false);
    socket.resume();
    await until(() => drained);
    expect(listener?.write(HELLO)).toBe(true);
    listener?.cut();
    await until(() => released() === 1);
  });
});
