import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import {
  type Fault,
  type FaultyGoodsServer,
  type SeenGoodsRequest,
  startFaultyGoodsServer,
} from '../../../test/support/faulty-goods-server.ts';
import { deliveryAnswer } from '../../../test/support/market-answers.ts';
import { createTestTime } from '../../../test/support/scripted-market.ts';
import { createClient } from '../client.ts';
import { ArtifactMismatch } from '../payments/artifact-commitment.ts';
import type { DeliveredGoods } from './download.ts';

const KEY = 'aisle_sk_not-a-real-key';
const SALT = Buffer.alloc(32, 7);
const MIB = 1_048_576;
let server: FaultyGoodsServer | undefined;
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function connect(faultOf?: (request: SeenGoodsRequest, index: number) => Fault) {
  server = await startFaultyGoodsServer(faultOf);
  const content = Buffer.alloc(3 * MIB + 5, createHash('sha512').update('goods').digest());
  const commitment = `0x${createHash('sha256').update(SALT).update(content).digest('hex')}`;
  server.goods.content = content;
  server.goods.tag = `"${commitment}"`;
  const time = createTestTime();
  const client = createClient({ baseUrl: server.baseUrl, key: KEY, environment: time });
  return { server, time, client, content, commitment, goods: goodsOf(server.baseUrl, content, commitment) };
}

function goodsOf(baseUrl: string, content: Buffer, artifact_commitment: string): DeliveredGoods {
  const reply = deliveryAnswer(7, {
    artifact: null,
    artifact_salt: `0x${SALT.toString('hex')}`,
    download: {
      ...{ url: `${baseUrl}/api/download/7`, bytes: content.length, media_type: 'application/zip', filename: 'a.zip' },
      ...{ sha256: `0x${'00'.repeat(32)}`, download_token: null, expires_at: null },
    },
  });
  return { ...(reply as { body: DeliveredGoods }).body, artifact_commitment };
}

function gather() {
  const parts: Uint8Array[] = [];
  return { to: (part: Uint8Array) => void parts.push(part), all: () => Buffer.concat(parts) };
}

test('passes the goods on in order, to a function or to a stream, and checks them', async () => {
  const { client, goods, content } = await connect();
  const { to, all } = gather();
  const received: number[] = [];
  await client.download(goods, { to, onProgress: (progress) => received.push(progress.received) });
  expect(all().equals(content)).toBe(true);
  expect(received.at(-1)).toBe(content.length);
  const parts: Uint8Array[] = [];
  let isClosed = false;
  const stream = new WritableStream<Uint8Array>({
    write: (part) => void parts.push(part),
    close: () => {
      isClosed = true;
    },
  });
  await client.download(goods, { to: stream });
  expect(Buffer.concat(parts).equals(content)).toBe(true);
  expect(isClosed).toBe(true);
});

test('continues after every cut from the first missing byte, and pauses between', async () => {
  const { client, server, goods, content, time } = await connect((_, index) =>
    index < 20 ? { cut_after: 100_000 } : {},
  );
  const { to, all } = gather();
  await client.download(goods, { to });
  expect(all().equals(content)).toBe(true);
  const ranges = server.seen.map(({ headers }) => Number(/^bytes=(\d+)-$/.exec(headers.range ?? 'bytes=0-')?.[1]));
  expect(ranges).toEqual(ranges.toSorted((a, b) => a - b));
  expect(ranges.at(-1)).toBeGreaterThan(0);
  expect(time.slept.length).toBe(20);
  expect(Math.max(...time.slept)).toBeLessThanOrEqual(30);
});

test('takes no other answer for the goods, not even one of success', async () => {
  const { client, goods } = await connect(() => ({ accepted: true }));
  const { to, all } = gather();
  await expect(client.download(goods, { to })).rejects.toMatchObject({ name: 'UnreadableAnswer', status: 202 });
  expect(all().length).toBe(0);
});

test.each<[string, Fault]>([
  ['a page of a proxy', { type: 'text/html; charset=utf-8' }],
  ['an answer without a type', { type: '' }],
  ['bytes with a tag of something else', { tag: '"5f3c-62a"' }],
  ['bytes with a weak tag', { tag: `W/"0x${'11'.repeat(32)}"` }],
])('repeats after %s, at the start and in between, and takes nothing from it', async (_, fault) => {
  const { client, server, goods, content, time } = await connect((_request, index) =>
    [0, 2].includes(index) ? { page: '<p>Please sign in</p>', ...fault } : index === 1 ? { cut_after: 70_000 } : {},
  );
  const { to, all } = gather();
  await client.download(goods, { to });
  expect(all().equals(content)).toBe(true);
  expect(server.seen).toHaveLength(4);
  expect(time.slept).toHaveLength(3);
});

test('gives up on a proxy that answers every time, with no word about wrong goods', async () => {
  const long = '<p>Please sign in</p>'.repeat(200_000);
  const { client, server, goods } = await connect(() => ({ page: long, type: 'text/html' }));
  const { to, all } = gather();
  const whole = { name: 'UnreadableAnswer', why: 'no_answer', status: 200 };
  await expect(client.download(goods, { to })).rejects.toMatchObject(whole);
  expect(server.seen).toHaveLength(11);
  expect(all().length).toBe(0);
});

test('skips what has come if the answer has no range, and resumes behind bytes of an earlier call', async () => {
  const { client, goods, content } = await connect((_, index) =>
    index === 0 ? { cut_after: 70_000 } : { no_range: true },
  );
  const whole = gather();
  await client.download(goods, { to: whole.to });
  expect(whole.all().equals(content)).toBe(true);
  const rest = gather();
  await client.download(goods, { to: rest.to, resume: content.subarray(0, 2 * MIB) });
  expect(rest.all().equals(content.subarray(2 * MIB))).toBe(true);
  const nothing = gather();
  await client.download(goods, { to: nothing.to, resume: content });
  expect(nothing.all().length).toBe(0);
});

test('wrong bytes are found, however they come: sent so, resumed so, or as goods that changed meanwhile', async () => {
  const lying = await connect(() => ({ wrong_byte: true }));
  await expect(lying.client.download(lying.goods, gather())).rejects.toThrow(ArtifactMismatch);
  const aborted: unknown[] = [];
  const to = new WritableStream<Uint8Array>({ abort: (reason) => void aborted.push(reason) });
  await expect(lying.client.download(lying.goods, { to })).rejects.toThrow(ArtifactMismatch);
  expect(aborted).toEqual([expect.any(ArtifactMismatch)]);
  await lying.server[Symbol.asyncDispose]();

  const honest = await connect((_, index) => (index === 1 ? { cut_after: 10 } : {}));
  const resume = Buffer.alloc(MIB, 1);
  await expect(honest.client.download(honest.goods, { ...gather(), resume })).rejects.toThrow(ArtifactMismatch);
  const changing = honest.client.download(honest.goods, {
    to: () => {
      honest.server.goods.tag = `"0x${'11'.repeat(32)}"`;
    },
  });
  await expect(changing).rejects.toThrow(ArtifactMismatch);
});

test('a range that begins elsewhere is not taken', async () => {
  const { client, goods } = await connect((_, index) => (index === 0 ? { cut_after: 5 } : { wrong_offset: true }));
  await expect(client.download(goods, gather())).rejects.toMatchObject({ why: 'unexpected' });
});

test.each([
  ['the market’s own name', (url: string) => url.replace(/^http:\/\/[^/]+/, 'https://market.example')],
  ['a host that is not there', (url: string) => url.replace(/^http:\/\/[^/]+/, 'http://127.0.0.1:1')],
  ['a user name', (url: string) => url.replace('http://', 'http://127.0.0.1@other.example/')],
  ['a parent folder', (url: string) => url.replace('/api/', '/api/../../')],
  ['a query', (url: string) => `${url}?to=other`],
  ['no address', () => ''],
])('asks the market at the address of the client, even if the goods name %s', async (_, spoil) => {
  const { client, server, goods, content } = await connect();
  const download = goods.download && { ...goods.download, url: spoil(goods.download.url) };
  const { to, all } = gather();
  await client.download({ ...goods, download }, { to });
  expect(all().equals(content)).toBe(true);
  expect(server.seen.map(({ path }) => path)).toEqual(['/api/download/7']);
});

test('shows the credential of the delivery', async () => {
  const { client, server, goods } = await connect();
  await client.download(goods, gather());
  await client.download({ ...goods, delivery_token: 'dt' }, gather());
  const token = goods.download && { ...goods.download, download_token: 'dl' };
  await client.download({ ...goods, download: token, delivery_token: 'dt' }, gather());
  const shown = server.seen.map(({ headers }) => [
    headers.authorization,
    headers['x-delivery-token'],
    headers['x-download-token'],
  ]);
  expect(shown).toEqual([
    [`Bearer ${KEY}`, undefined, undefined],
    [undefined, 'dt', undefined],
    [undefined, undefined, 'dl'],
  ]);
});

test('collects again when the token has run out, and an error of the target ends the download', async () => {
  const { client, server, goods, content } = await connect((_, index) =>
    index === 0 ? { cut_after: 50_000 } : index === 1 ? { refuse: ['sign_to_collect'] } : {},
  );
  const token = (download_token: string) => goods.download && { ...goods.download, download_token };
  let collected = 0;
  const { to, all } = gather();
  await client.download(
    { ...goods, download: token('old') },
    {
      to,
      collectAgain: async () => {
        collected += 1;
        return { ...goods, download: token('new') };
      },
    },
  );
  expect(all().equals(content)).toBe(true);
  expect(collected).toBe(1);
  expect(server.seen.map(({ headers }) => headers['x-download-token'])).toEqual(['old', 'old', 'new']);
  const full = () => {
    throw new Error('disk full');
  };
  await expect(client.download(goods, { to: full })).rejects.toThrow('disk full');
});
