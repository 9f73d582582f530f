import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import {
  type Fault,
  type FaultyGoodsServer,
  type SeenGoodsRequest,
  startFaultyGoodsServer,
} from '../../../test/support/faulty-goods-server.ts';
import { createTestTime } from '../../../test/support/scripted-market.ts';
import { createClient } from '../client.ts';
import { MarketError } from '../errors.ts';
import { UploadMismatch } from './upload.ts';

const KEY = 'aisle_sk_not-a-real-key';
let server: FaultyGoodsServer | undefined;
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function connect(faultOf?: (request: SeenGoodsRequest, index: number) => Fault) {
  server = await startFaultyGoodsServer(faultOf);
  const time = createTestTime();
  return { server, time, client: createClient({ baseUrl: server.baseUrl, key: KEY, environment: time }) };
}

const MIB = 1_048_576;
function bytesOf(size: number): Buffer {
  return Buffer.alloc(size, createHash('sha512').update(String(size)).digest());
}
const hashOf = (bytes: Uint8Array) => `0x${createHash('sha256').update(bytes).digest('hex')}`;

test.each([
  ['bytes', (bytes: Buffer) => bytes],
  ['a Blob', (bytes: Buffer) => new Blob([new Uint8Array(bytes)])],
  [
    'a source',
    (bytes: Buffer) => ({ size: bytes.length, slice: async (a: number, b: number) => bytes.subarray(a, b) }),
  ],
])('uploads %s in growing requests, with name, type and progress', async (_, given) => {
  const { client, server } = await connect();
  const bytes = bytesOf(20 * MIB + 7);
  const sent: number[] = [];
  const onProgress = (progress: { sent: number }) => sent.push(progress.sent);
  const upload = await client.upload(given(bytes), { filename: 'näme.zip', mediaType: 'application/zip', onProgress });
  expect(upload).toEqual({ id: expect.any(String), sha256: hashOf(bytes), bytes: bytes.length });
  const stored = server.uploads.get(upload.id);
  expect(stored?.content.equals(bytes)).toBe(true);
  expect(stored?.row).toMatchObject({ filename: 'näme.zip', media_type: 'application/zip', state: 'complete' });
  expect(sent).toEqual([1, 3, 7, 15].map((size) => size * MIB).concat(bytes.length));
  expect(Math.max(...server.seen.map((request) => request.bytes))).toBe(8 * MIB);
});

test('a connection that breaks at every other request continues from the stored byte, with smaller requests', async () => {
  const faults: Fault[] = [{ cut_request: true }, { cut_answer: true }, { retryAfter: 7, refuse: ['unavailable'] }];
  let patches = 0;
  const { client, server, time } = await connect(({ method }) =>
    method === 'PATCH' && patches++ % 2 === 0 ? (faults[(patches >> 1) % 3] ?? {}) : {},
  );
  const bytes = bytesOf(9 * MIB + 1);
  const { id, sha256 } = await client.upload(bytes);
  expect(sha256).toBe(hashOf(bytes));
  expect(server.uploads.get(id)?.content.equals(bytes)).toBe(true);
  expect(server.uploads.size).toBe(1);
  expect(time.slept).toContain(7);
  expect(Math.max(...time.slept)).toBeLessThanOrEqual(30);
});

test('a lost answer to the creation leaves one upload', async () => {
  const { client, server } = await connect((_, index) => (index === 0 ? { cut_answer: true } : {}));
  const bytes = bytesOf(100);
  await client.upload(bytes, { filename: 'a.txt' });
  expect([...server.uploads.values()].map(({ row }) => row.state)).toEqual(['complete']);
});

test('resumes by ID, and begins anew if the market no longer has the upload', async () => {
  const { client, server } = await connect(({ method }, index) =>
    method === 'PATCH' && index > 1 && index < 30 ? { refuse: ['upload_refused'] } : {},
  );
  const bytes = bytesOf(4 * MIB);
  const ids: string[] = [];
  const onStarted = async (id: string) => void ids.push(id);
  await expect(client.upload(bytes, { onStarted })).rejects.toThrow(MarketError);
  const [id = ''] = ids;
  expect(server.uploads.get(id)?.row.received_bytes).toBe(MIB);
  for (let at = server.seen.length; at < 30; at += 1) await client.listUploads();
  expect(await client.upload(bytes, { resume: id, onStarted })).toMatchObject({ id, sha256: hashOf(bytes) });
  expect(ids).toEqual([id]);
  const gone = await client.upload(bytes, { resume: 'x'.repeat(22), onStarted });
  expect(ids).toEqual([id, gone.id]);
  // An upload of another size holds other bytes.
  const other = await client.upload(bytes.subarray(1), { resume: id, onStarted });
  expect(other.id).not.toBe(id);
});

test('bytes that change while they are read are found at the end', async () => {
  const { client } = await connect();
  const bytes = bytesOf(6 * MIB);
  let reads = 0;
  const source = {
    size: bytes.length,
    slice: async (from: number, to: number) => {
      reads += 1;
      const part = Buffer.from(bytes.subarray(from, to));
      if (reads > 2) part[0] = 0xff;
      return part;
    },
  };
  const ids: string[] = [];
  const options = { onStarted: (id: string) => void ids.push(id) };
  await client.upload(source, options);
  // Resuming a finished upload reads the bytes again.
  await expect(client.upload(bytes, { resume: ids[0] ?? '' })).rejects.toThrow(UploadMismatch);
});

test('gives up after ten failures in a row, and at once on a refusal that will not change or a long pause', async () => {
  const down = await connect(({ method }) => (method === 'PATCH' ? { cut_request: true } : {}));
  await expect(down.client.upload(bytesOf(10))).rejects.toMatchObject({ why: 'no_answer' });
  expect(down.server.seen.filter(({ method }) => method === 'PATCH')).toHaveLength(11);
  await down.server[Symbol.asyncDispose]();
  const full = await connect(() => ({ refuse: ['storage_full'], retryAfter: 3_600 }));
  await expect(full.client.upload(bytesOf(10))).rejects.toMatchObject({ reason: 'storage_full' });
  expect(full.time.slept).toEqual([]);
  await full.server[Symbol.asyncDispose]();
  const large = await connect(() => ({ refuse: ['upload_too_large'] }));
  await expect(large.client.upload(bytesOf(10))).rejects.toMatchObject({ reason: 'upload_too_large' });
});

test('a wrong offset in an answer is not believed, and an abort ends the upload', async () => {
  let patches = 0;
  const aborter = new AbortController();
  const { client, server } = await connect(({ method }) => {
    if (method !== 'PATCH') return {};
    patches += 1;
    if (patches === 3) aborter.abort(new Error('stopped'));
    return patches === 1 ? { wrong_offset: true } : {};
  });
  await expect(client.upload(bytesOf(64), {})).rejects.toMatchObject({ why: 'unexpected' });
  await client.upload(bytesOf(64), {});
  await expect(client.upload(bytesOf(64), { signal: aborter.signal })).rejects.toThrow();
  expect(server.seen.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
});
