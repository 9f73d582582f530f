import { describe, expect, it } from 'vitest';
import { listenSample, openSocket, sampleKey, sendRaw } from '../../../test/support/sample-server.ts';
import { Refusal } from '../refusal.ts';
import type { Incoming, Outgoing } from './message.ts';

type Answer = (incoming: Incoming) => Promise<Outgoing>;

const EMPTY: Outgoing = { status: 204, headers: {}, body: '' };

/** Starts a server with a route that reads its body as it arrives. */
function listenWithBody(answer: Answer) {
  return listenSample({
    extraRoutes: ({ identify }) => [
      {
        ...{ method: 'PATCH', path: '/body/:id', streamsBody: true },
        ...{ headers: { 'x-protocol': '1' }, optionsHeaders: { 'x-protocol-version': '1' } },
        answer,
      },
      {
        ...{ method: 'POST', path: '/mine' },
        answer: async (incoming) => ({ ...EMPTY, headers: { 'x-caller': String((await identify(incoming)).id) } }),
      },
    ],
  });
}

const head = (length: number, path = '/body/1'): string =>
  `PATCH ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/any\r\nContent-Length: ${length}\r\n\r\n`;

async function readAll({ stream }: Incoming, seen: (text: string) => void): Promise<void> {
  for await (const piece of stream ?? []) seen(Buffer.from(piece).toString());
}

describe('a body that is read as it arrives', () => {
  it('comes to its route piece by piece, whatever its type', async () => {
    const seen: string[] = [];
    const { port } = await listenWithBody(async (incoming) => {
      await readAll(incoming, (text) => seen.push(text));
      return EMPTY;
    });
    const client = await openSocket(port, `${head(6)}one`);
    await expect.poll(() => seen).toEqual(['one']);
    client.socket.write('two');
    await expect.poll(client.heard).toMatch(/^HTTP\/1\.1 204 /);
    expect(seen).toEqual(['one', 'two']);
  });

  it('is empty without a body and without a type', async () => {
    const seen: string[] = [];
    const { url } = await listenWithBody(async (incoming) => {
      await readAll(incoming, (text) => seen.push(text));
      return EMPTY;
    });
    for (const headers of [{}, { 'content-type': 'application/any' }] as Record<string, string>[])
      expect((await fetch(`${url}/body/1`, { method: 'PATCH', headers })).status).toBe(204);
    expect(seen).toEqual([]);
  });

  it.each([
    ['none of it', async () => undefined],
    [
      'a part of it',
      async ({ stream }: Incoming) => {
        for await (const _ of stream ?? []) break;
      },
    ],
  ] as [string, (incoming: Incoming) => Promise<void>][])(
    'is dropped by the server if its route reads %s, and the connection goes on',
    async (_, read) => {
      const { port } = await listenWithBody(async (incoming) => {
        await read(incoming);
        throw new Refusal('rate_limited', { retryAfterSeconds: 1 });
      });
      const body = 'x'.repeat(300_000);
      const client = await openSocket(port, `${head(body.length)}${body}`);
      await expect.poll(client.heard).toMatch(/^HTTP\/1\.1 429 .*\r\n/);
      client.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      await expect.poll(client.heard).toMatch(/\r\nHTTP\/1\.1 200 |}HTTP\/1\.1 200 /);
    },
  );

  it('ends with an error if its client is gone, and a stop waits for what its route still does', async () => {
    let isCut = false;
    const { promise: stored, resolve: finish } = Promise.withResolvers<void>();
    const { port, server, lines } = await listenWithBody(async (incoming) => {
      await readAll(incoming, () => undefined).catch(() => {
        isCut = true;
      });
      await stored;
      return EMPTY;
    });
    const client = await openSocket(port, `${head(10)}half`);
    await expect.poll(() => server.admission().slotsTaken).toBe(1);
    client.socket.destroy();
    await expect.poll(() => isCut).toBe(true);
    let isClosed = false;
    const closing = server.close({ drainMs: 0 }).then(() => {
      isClosed = true;
    });
    await expect.poll(() => lines.join('')).toContain('"aborted":true');
    expect(isClosed).toBe(false);
    finish();
    await closing;
    expect(lines.join('')).not.toMatch(/"level":"(?:warn|error)"/);
  });
});

describe('a route of another protocol', () => {
  it('has headers of its own in every answer and in OPTIONS', async () => {
    const { url, port } = await listenWithBody(async () => {
      throw new Error('on purpose');
    });
    const failed = await fetch(`${url}/body/1`, { method: 'PATCH' });
    expect([failed.status, failed.headers.get('x-protocol')]).toEqual([500, '1']);
    const refused = await fetch(`${url}/body/1`, { method: 'PATCH', headers: { 'x-note': sampleKey } });
    expect([refused.status, refused.headers.get('x-protocol')]).toEqual([400, '1']);
    expect(await sendRaw(port, 'OPTIONS /body/1 HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/\r\nx-protocol-version: 1\r\n/);
  });

  it('identifies its caller by key, as an endpoint does', async () => {
    const { url, lines } = await listenWithBody(async () => EMPTY);
    const ask = (headers: Record<string, string>) => fetch(`${url}/mine`, { method: 'POST', headers });
    const known = await ask({ authorization: `Bearer ${sampleKey}` });
    expect([known.status, known.headers.get('x-caller')]).toEqual([204, '7']);
    expect(await (await ask({})).json()).toMatchObject({ status: 401, reason: 'key_required' });
    expect(await (await ask({ authorization: 'Bearer x' })).json()).toMatchObject({
      status: 401,
      reason: 'key_invalid',
    });
    await expect.poll(() => lines.join('')).toContain('"merchant_id":"7"');
  });
});
