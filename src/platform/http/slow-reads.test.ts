import { describe, expect, it } from 'vitest';
import { listenSample, openSocket, type SampleOptions } from '../../../test/support/sample-server.ts';

// More than the buffers at both ends of a connection hold.
const LONG = Buffer.alloc(32 * 1_024 * 1_024, 'a');
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function listenLong(changed: Partial<SampleOptions> = {}) {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const asked: string[] = [];
  let released = 0;
  const sample = await listenSample({
    pages: [
      {
        method: 'GET',
        path: '/slow',
        handler: async () => {
          await gate;
          return { status: 200, headers: {}, body: 'slow' };
        },
      },
    ],
    fromMemory: ({ target }) => {
      asked.push(target);
      if (target === '/slow') return null;
      const release = () => {
        released += 1;
      };
      const body = target === '/long' ? LONG : Buffer.from('short');
      return { etag: '"long"', head: [], body, release, route: '/long' };
    },
    ...changed,
  });
  return { ...sample, open: () => open(), asked, released: () => released };
}

/** Simulates a client that sends a request and stops reading. */
async function askAndPause(port: number, path: string) {
  const client = await openSocket(port, get(path));
  await new Promise((resolve) => client.socket.once('data', resolve));
  client.socket.pause();
  return client;
}

describe('an answer from memory to a slow client', () => {
  it('keeps its bytes until they are written, and the server open until then', async () => {
    const { server, port, released } = await listenLong();
    const { socket, closed } = await askAndPause(port, '/long');
    let isClosed = false;
    const closing = server.close({ drainMs: 20_000 }).then(() => {
      isClosed = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([released(), isClosed]).toEqual([0, false]);
    let read = 0;
    socket.removeAllListeners('data');
    socket.on('data', (chunk) => {
      read += chunk.length;
    });
    socket.resume();
    await closing;
    await expect.poll(closed).toBe(true);
    expect(released()).toBe(1);
    expect(read).toBeGreaterThan(LONG.length / 2);
  });

  it('counts towards what the server takes at once, and gives its bytes back when the client goes', async () => {
    const { url, port, released } = await listenLong({ bounds: { requestsInFlight: 1 } });
    const { socket } = await askAndPause(port, '/long');
    expect(released()).toBe(0);
    expect((await fetch(`${url}/short`)).status).toBe(503);
    socket.destroy();
    await expect.poll(released).toBe(1);
    expect((await fetch(`${url}/short`)).status).toBe(200);
    expect(released()).toBe(2);
  });
});

describe('a server that closes', () => {
  it('takes nothing more from memory, and says that the connection ends', async () => {
    const { server, port, open, asked } = await listenLong();
    const slow = await openSocket(port, get('/slow'));
    const kept = await openSocket(port, get('/short'));
    await expect.poll(kept.heard).toContain('short');
    const closing = server.close({ drainMs: 20_000 });
    kept.socket.write(get('/short'));
    await expect.poll(kept.closed).toBe(true);
    const last = kept.heard().slice(kept.heard().lastIndexOf('HTTP/1.1'));
    expect(last.startsWith('HTTP/1.1 404')).toBe(true);
    expect(last.toLowerCase()).toContain('connection: close');
    expect(asked).toEqual(['/slow', '/short']);
    open();
    await closing;
    await expect.poll(slow.heard).toMatch(/slow$/);
  });

  it('does not wait for a request that waits behind another', async () => {
    const { server, port, open, asked } = await listenLong();
    const { heard } = await openSocket(port, get('/slow') + get('/short'));
    await expect.poll(() => asked.length).toBe(1);
    const started = performance.now();
    const closing = server.close({ drainMs: 20_000 });
    open();
    await closing;
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(asked[0]).toBe('/slow');
    await expect.poll(heard).toContain('slow');
  });
});
