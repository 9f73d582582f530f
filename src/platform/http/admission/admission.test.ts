import { describe, expect, it, onTestFinished } from 'vitest';
import { listenSample, openSocket, type SampleOptions, sampleKey } from '../../../../test/support/sample-server.ts';
import { systemClock } from '../../clock.ts';
import { page } from '../server-options.ts';

const get = (path: string, headers: string[] = []): string =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');
const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

/** Starts a server. `/slow` answers when the gate opens; `asked` lists requests that have begun. */
async function listen(changed: Partial<SampleOptions> = {}) {
  const gate = Promise.withResolvers<void>();
  const pause = Promise.withResolvers<void>();
  const asked: string[] = [];
  const slow = page({
    method: 'GET',
    path: '/slow',
    handler: async (call) => {
      asked.push(call.path);
      await gate.promise;
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: 'slow' };
    },
  });
  const quick = page({
    method: 'GET',
    path: '/quick',
    handler: (call) => {
      asked.push(call.path);
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: call.clientNetwork };
    },
  });
  let aheadMs = 0;
  const clock = {
    now: () => systemClock.now() + aheadMs,
    // Shortens the one-second sleep between checks of all sockets, so that tests need not wait. The two-second sleep, after which a network
    // is read again, lasts until `readAgain`.
    sleep: (ms: number, signal?: AbortSignal) =>
      ms === 2_000 ? pause.promise : systemClock.sleep(ms === 1_000 ? 5 : ms, signal),
  };
  const sample = await listenSample({ pages: [slow, quick], clock, ...changed });
  onTestFinished(() => gate.resolve());
  return {
    ...sample,
    asked,
    open: () => gate.resolve(),
    /** Ends the pause in which a network is not read. */
    readAgain: () => pause.resolve(),
    later: (ms: number) => {
      aheadMs += ms;
    },
  };
}

async function from(port: number, localAddress: string, text: string) {
  const opened = await openSocket(port, text, localAddress);
  return { ...opened, statuses: () => statusesIn(opened.heard()) };
}

describe('one connection', () => {
  it('is answered one request at a time, and one more waits', async () => {
    const { port, asked, open } = await listen();
    const { heard } = await openSocket(port, get('/slow?1') + get('/quick?2'));
    await expect.poll(() => asked).toEqual(['/slow?1']);
    const other = await openSocket(port, get('/quick?other'));
    await expect.poll(() => statusesIn(other.heard())).toEqual([200]);
    expect(asked).toEqual(['/slow?1', '/quick?other']);
    open();
    await expect.poll(() => statusesIn(heard())).toEqual([200, 200]);
    expect(asked).toEqual(['/slow?1', '/quick?other', '/quick?2']);
  });

  it('is closed at a third request, in one piece with the others or later; the second never begins', async () => {
    for (const isLater of [false, true]) {
      const { port, asked, open, server } = await listen();
      const third = get('/quick?3');
      const first = await openSocket(port, get('/slow?1') + get('/quick?2') + (isLater ? '' : third));
      await expect.poll(() => asked).toEqual(['/slow?1']);
      if (isLater) first.socket.write(third);
      await expect.poll(first.closed).toBe(true);
      await expect.poll(() => server.admission()).toMatchObject({ slotsTaken: 0, rules: { pipelined: 1 } });
      open();
      const other = await openSocket(port, get('/quick?other'));
      await expect.poll(() => statusesIn(other.heard())).toEqual([200]);
      expect(first.heard()).toBe('');
      expect(asked).toEqual(['/slow?1', '/quick?other']);
    }
  });

  it('that sends thousands at once has its network read again after two seconds, and others at once', async () => {
    const { port, server, readAgain } = await listen();
    const kept = await from(port, '127.0.1.1', get('/quick'));
    await expect.poll(kept.statuses).toEqual([200]);
    const flood = await from(port, '127.0.1.1', 'GET /quick HTTP/1.1\r\n\r\n'.repeat(2_500));
    await expect.poll(flood.closed).toBe(true);
    expect(server.admission().rules.pipelined).toBe(1);
    const late = await from(port, '127.0.1.1', get('/quick'));
    kept.socket.write(get('/quick'));
    const other = await from(port, '127.0.2.1', get('/quick'));
    await expect.poll(other.statuses).toEqual([200]);
    expect([late.statuses(), kept.statuses()]).toEqual([[], [200]]);
    readAgain();
    await expect.poll(late.statuses).toEqual([200]);
    await expect.poll(kept.statuses).toEqual([200, 200]);
  });

  it('has one request begun also where the end of its head comes with the next ones', async () => {
    for (const cut of [1, 2, 3]) {
      const { port, asked, open } = await listen();
      const first = get('/slow?1');
      const { socket, heard } = await openSocket(port, first.slice(0, -cut));
      const before = await openSocket(port, get('/quick?before'));
      await expect.poll(() => statusesIn(before.heard())).toEqual([200]);
      socket.write(first.slice(-cut) + get('/quick?2'));
      await expect.poll(() => asked).toContain('/slow?1');
      const other = await openSocket(port, get('/quick?other'));
      await expect.poll(() => statusesIn(other.heard())).toEqual([200]);
      expect(asked).toEqual(['/quick?before', '/slow?1', '/quick?other']);
      open();
      await expect.poll(() => statusesIn(heard())).toEqual([200, 200]);
    }
  });

  it('may send its requests in pieces of any size, bodies of either kind between them', async () => {
    const body = '{"collect":\r\n\r\ntrue}';
    const post = ['POST /api/buy/1 HTTP/1.1', 'Host: x', 'Content-Type: application/json'];
    const sized = [...post, `Content-Length: ${body.length}`, '', body].join('\r\n');
    const chunked = [...post, 'Transfer-Encoding: chunked', '', `${body.length.toString(16)}`, body, '0', '', ''].join(
      '\r\n',
    );
    const texts = [get('/quick?1') + sized, sized + chunked, chunked + get('/quick?2')];
    const { port } = await listen();
    for (const size of [1, 2, 3, 5, 7, 64, 91, 1_000]) {
      const { socket, statuses } = await from(port, '127.0.0.1', '');
      socket.setNoDelay(true);
      for (const [index, text] of texts.entries()) {
        for (let at = 0; at < text.length; at += size) {
          socket.write(text.slice(at, at + size));
          await new Promise((resolve) => setImmediate(resolve));
        }
        await expect.poll(statuses).toEqual(Array(2 * index + 2).fill(200));
      }
    }
  });

  it('is told that its body comes too slowly, and is closed', async () => {
    const { port, later, server } = await listen();
    const head = 'POST /api/buy/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n';
    const { heard, closed } = await openSocket(port, `${head}{`);
    await expect.poll(() => server.admission().slotsTaken).toBe(1);
    later(2_000);
    const other = await openSocket(port, get('/quick'));
    await expect.poll(() => statusesIn(other.heard())).toEqual([200]);
    expect(closed()).toBe(false);
    later(10_000);
    await expect.poll(closed).toBe(true);
    expect(statusesIn(heard())).toEqual([408]);
    expect(heard()).toContain('"reason":"request_timeout"');
    expect(server.admission()).toMatchObject({ slotsTaken: 0, rules: { body_too_slow: 1 } });
  });

  it('is cut when it takes nothing of its answer for ten seconds', async () => {
    const long = Buffer.alloc(32 * 1_024 * 1_024, 'a');
    const { port, later, server } = await listen({
      fromMemory: () => ({ etag: '"long"', head: [], body: long, route: '/long' }),
    });
    const { socket } = await openSocket(port, get('/long'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    await expect.poll(() => server.admission().slotsTaken).toBe(1);
    // Waits until the kernel's buffers are full.
    await new Promise((resolve) => setTimeout(resolve, 200));
    later(9_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.admission().rules.answer_not_taken).toBe(0);
    later(2_000);
    await expect.poll(() => server.admission()).toMatchObject({ slotsTaken: 0, rules: { answer_not_taken: 1 } });
  });
});

describe('slots', () => {
  const FEW = { bounds: { requestsInFlight: 40 } };
  const take = (port: number, count: number, address: (index: number) => string, headers: string[] = []) =>
    Promise.all(Array.from({ length: count }, (_, index) => from(port, address(index), get('/slow', headers))));

  it('over half of them are shared by networks; the rest of the world goes on', async () => {
    const { port, asked, server } = await listen(FEW);
    await take(port, 21, () => '127.0.1.1');
    await expect.poll(() => asked.length).toBe(21);
    const more = await from(port, '127.0.1.1', get('/quick'));
    await expect.poll(more.statuses).toEqual([429]);
    expect(more.heard()).toMatch(/\r\nretry-after: 1\r\n/);
    const other = await from(port, '127.0.2.1', get('/quick'));
    await expect.poll(other.statuses).toEqual([200]);
    expect(server.admission().rules.network_share).toBe(1);
  });

  it('some are kept for requests with a credential, until one there is worth nothing', async () => {
    const { port, asked, later } = await listen(FEW);
    await take(port, 21, () => '127.0.1.1');
    await expect.poll(() => asked.length).toBe(21);
    // One request from each address, because an address may have only one slot while the server is busy.
    await take(port, 15, (index) => `127.0.3.${index + 1}`);
    await expect.poll(() => asked.length).toBe(36);
    const plain = await from(port, '127.0.4.1', get('/quick'));
    await expect.poll(plain.statuses).toEqual([503]);
    const key = `Authorization: Bearer ${sampleKey}`;
    const known = await from(port, '127.0.4.1', get('/quick', [key]));
    await expect.poll(known.statuses).toEqual([200]);
    const wrong = 'POST /api/buy/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nonsense\r\nContent-Length: 0\r\n\r\n';
    const guessed = await from(port, '127.0.4.1', wrong);
    await expect.poll(guessed.statuses).toEqual([401]);
    const again = await from(port, '127.0.4.1', get('/quick', [key]));
    await expect.poll(again.statuses).toEqual([503]);
    const elsewhere = await from(port, '127.0.5.1', get('/quick', [key]));
    await expect.poll(elsewhere.statuses).toEqual([200]);
    const proof = 'POST /api/buy/unpaid HTTP/1.1\r\nHost: x\r\nX-PAYMENT: nonsense\r\nContent-Length: 0\r\n\r\n';
    const unpaid = await from(port, '127.0.5.1', proof);
    await expect.poll(unpaid.statuses).toEqual([402]);
    const then = await from(port, '127.0.5.1', get('/quick', [key]));
    await expect.poll(then.statuses).toEqual([503]);
    later(60_000);
    const minuteLater = await from(port, '127.0.5.1', get('/quick', [key]));
    await expect.poll(minuteLater.statuses).toEqual([200]);
  });

  it('behind a trusted proxy are counted for the clients that it names', async () => {
    const { port, asked } = await listen({ ...FEW, trustProxy: ['127.0.0.9'] });
    const via = (client: string) => [`X-Forwarded-For: 203.0.113.250, ${client}`];
    await Promise.all(Array.from({ length: 21 }, () => from(port, '127.0.0.9', get('/slow', via('198.51.100.1')))));
    await expect.poll(() => asked.length).toBe(21);
    const same = await from(port, '127.0.0.9', get('/quick', via('198.51.100.77')));
    await expect.poll(same.statuses).toEqual([429]);
    const other = await from(port, '127.0.0.9', get('/quick', via('203.0.113.1')));
    await expect.poll(other.statuses).toEqual([200]);
    expect(other.heard()).toMatch(/203\.0\.113\.1$/);
  });
});

describe('sockets', () => {
  it('of one network are few, and idle ones make room for the next', async () => {
    const { port, server } = await listen({ bounds: { openSockets: 20 } });
    const first = await from(port, '127.0.1.1', get('/quick'));
    await expect.poll(first.statuses).toEqual([200]);
    await from(port, '127.0.1.1', get('/slow'));
    const third = await from(port, '127.0.1.1', get('/slow'));
    await expect.poll(first.closed).toBe(true);
    const fourth = await from(port, '127.0.1.1', get('/quick'));
    await expect.poll(fourth.closed).toBe(true);
    expect(third.closed()).toBe(false);
    expect(server.admission()).toMatchObject({ socketsOpen: 2, rules: { idle_closed: 1, sockets_of_network: 1 } });
  });

  it('a trusted proxy may have as many as there are', async () => {
    const { port, server } = await listen({ bounds: { openSockets: 20 }, trustProxy: ['127.0.0.9'] });
    await Promise.all(Array.from({ length: 12 }, () => from(port, '127.0.0.9', get('/slow'))));
    await expect.poll(() => server.admission().socketsOpen).toBe(12);
  });

  it('when all are taken a newcomer gets one of the network that holds most', async () => {
    const { port, server } = await listen({ bounds: { openSockets: 100 } });
    for (let network = 1; network <= 10; network += 1) {
      await Promise.all(Array.from({ length: 10 }, () => from(port, `127.0.${network}.1`, 'GET / HTTP/1.1\r\n')));
    }
    await expect.poll(() => server.admission().socketsOpen).toBe(100);
    const newcomer = await from(port, '127.0.99.1', get('/quick'));
    await expect.poll(newcomer.statuses).toEqual([200]);
    expect(server.admission().rules.sockets_full).toBe(1);
  });
});

it('a forwarded address from a peer that is not trusted is warned of, once', async () => {
  const { url, lines } = await listen();
  for (let turn = 0; turn < 3; turn += 1) {
    const answer = await fetch(`${url}/quick`, { headers: { 'x-forwarded-for': '203.0.113.1' } });
    expect(await answer.text()).toBe('127.0.0.1');
  }
  expect(lines.filter((line) => line.includes('forwarded_address_not_trusted'))).toHaveLength(1);
});
